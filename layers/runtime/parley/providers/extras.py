"""What some providers do beside conversing, over the same connection: moderate a text, make an image."""

from __future__ import annotations

from collections.abc import Mapping

from parley.domain.errors import ProviderError
from parley.providers.connection import Connection
from parley.providers.wire.failures import error_for_status, retry_after
from parley.providers.wire.image_bytes import image_of
from parley.providers.wire.protocol import ImageLink, ImageWire, ModerationWire
from parley.turns.model_ports import Image, ImageOptions, Moderated

_LARGEST_JUDGEMENT = 1_000_000
_LARGEST_IMAGE = 64_000_000
"""Bytes of an answer; as base64 an image takes a third more."""
_IMAGES = "image/png, image/*, application/json, text/event-stream"


class HttpModerator:
    """Implements the Moderator port."""

    def __init__(self, connection: Connection, wire: ModerationWire) -> None:
        self.name = connection.endpoint.name
        self._connection = connection
        self._wire = wire

    def moderate(self, text: str) -> Moderated:
        """One request; see the port."""
        connection, wire = self._connection, self._wire
        key = connection.key()
        try:
            connection.check_configured()
            url = connection.url(connection.endpoint.base_url, wire.path())
            request = connection.post(url, wire.encode(text), connection.headers(key))
            return wire.decode(connection.whole(wire.decode_error, request, limit=_LARGEST_JUDGEMENT))
        except ProviderError as error:
            raise connection.named(error, key) from None


class HttpImageMaker:
    """Implements the ImageMaker port."""

    def __init__(self, connection: Connection, wire: ImageWire) -> None:
        self.name = connection.endpoint.name
        self._connection = connection
        self._wire = wire

    def imagine(self, prompt: str, options: ImageOptions) -> Image:
        """One request, and another where the provider answers with an address; see the port."""
        key = self._connection.key()
        try:
            self._connection.check_configured()
            return self._imagine(prompt, options, key)
        except ProviderError as error:
            raise self._connection.named(error, key) from None

    def _imagine(self, prompt: str, options: ImageOptions, key: str) -> Image:
        connection, wire = self._connection, self._wire
        row = connection.endpoint
        url = connection.url(row.base_url, wire.path(options), own_server_path=row.own_server_path)
        headers = {**connection.headers(key), "accept": _IMAGES}
        request = connection.post(url, wire.encode(prompt, options), headers)
        image = wire.decode(connection.whole(wire.decode_error, request, limit=_LARGEST_IMAGE))
        if isinstance(image, ImageLink):
            fetching = connection.to_named(request, "GET", image.url, key, accept="image/*")
            return image_of(connection.whole(_not_there, fetching, limit=_LARGEST_IMAGE))
        return image


def _not_there(status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    return error_for_status(status, body, retry_after=retry_after(headers))
