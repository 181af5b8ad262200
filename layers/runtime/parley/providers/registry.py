"""The providers of an installation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import httpx

from parley.clock import SystemClock
from parley.domain.errors import ProviderNotConfigured
from parley.providers.bedrock import BedrockProvider, ConverseClient
from parley.providers.connection import Connection
from parley.providers.endpoints import Endpoint, endpoints
from parley.providers.extras import HttpImageMaker, HttpModerator
from parley.providers.http import HttpProvider, TimeLimits, make_client
from parley.providers.scripted import ScriptedProvider
from parley.providers.text_replies import TextReplies
from parley.turns.model_ports import ImageMaker, Moderator, Provider
from parley.turns.ports import Secrets

T = TypeVar("T")

MODERATION_LIMITS = TimeLimits(connect=5.0, read=15.0, total=15.0)
"""A person waits for a judgement before anything else happens, and it is short."""


class ProviderRegistry:
    """Implements the ports Providers, Moderators and ImageMakers.

    Providers are all rows of ``endpoints``, Bedrock, and the scripted provider; what a row can do beside
    conversing, it says itself.

    ``transport`` stands in for the network, ``bedrock`` for boto3's client, ``sleep`` for real waiting. One HTTP
    client serves all rows; it and boto3's are made when the first call needs them. ``rows`` instead of those of
    ``endpoints``: for an installation that has providers of its own.
    """

    def __init__(
        self,
        secrets: Secrets,
        *,
        transport: httpx.BaseTransport | None = None,
        bedrock: ConverseClient | None = None,
        sleep: Callable[[float], None] | None = None,
        limits: TimeLimits | None = None,
        rows: Sequence[Endpoint] | None = None,
    ) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._http: httpx.Client | None = None
        sleep = sleep or SystemClock().sleep
        self._bedrock = BedrockProvider(secrets, client=bedrock, limits=limits)
        self._moderators: dict[str, Moderator] = {}
        self._image_makers: dict[str, ImageMaker] = {}
        providers: list[Provider] = []
        for row in endpoints() if rows is None else rows:
            providers.append(HttpProvider(row, secrets, self._client, limits=limits, sleep=sleep))
            if row.moderation is not None:
                quick = Connection(row, secrets, self._client, limits=limits or MODERATION_LIMITS)
                self._moderators[row.name] = HttpModerator(quick, row.moderation)
            if row.images is not None:
                connection = Connection(row, secrets, self._client, limits=limits)
                self._image_makers[row.name] = HttpImageMaker(connection, row.images)
        scripted = ScriptedProvider(sleep)
        self._checks = {scripted.name: scripted.check_settings}
        self._moderators[scripted.name] = scripted
        self._image_makers |= {scripted.name: scripted, self._bedrock.name: self._bedrock}
        providers += [self._bedrock, scripted]
        self._providers = {provider.name: TextReplies(provider) for provider in providers}

    def get(self, name: str) -> Provider:
        """The provider, whether it is configured or not; see the port."""
        try:
            return self._providers[name]
        except KeyError:
            known = ", ".join(self.names())
            raise ProviderNotConfigured(f"there is no provider {name!r}; there are: {known}") from None

    def names(self) -> Sequence[str]:
        """All names, sorted."""
        return sorted(self._providers)

    def check_settings(self, name: str, settings: Mapping[str, Any]) -> None:
        """See the port: what an API of others takes, only it knows."""
        if check := self._checks.get(name):
            check(settings)

    def moderator(self, name: str) -> Moderator:
        """The moderator, whether it is configured or not; see the port."""
        return _known(self._moderators, name, "moderates texts")

    def image_maker(self, name: str) -> ImageMaker:
        """The image maker, whether it is configured or not; see the port."""
        return _known(self._image_makers, name, "makes images")

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        self._bedrock.close()
        with self._lock:
            if self._http is not None:
                self._http.close()
                self._http = None

    def _client(self) -> httpx.Client:
        with self._lock:
            if self._http is None:
                self._http = make_client(self._transport)
            return self._http


def _known(found: Mapping[str, T], name: str, does: str) -> T:
    try:
        return found[name]
    except KeyError:
        known = ", ".join(sorted(found))
        raise ProviderNotConfigured(f"no provider {name!r} {does}; those that do: {known}") from None
