"""Images in answers: base64, data URLs, and what kind of image some bytes are."""

from __future__ import annotations

import base64
import binascii
import re

from parley.domain.errors import StreamCut
from parley.providers.wire.protocol import ImageLink
from parley.turns.model_ports import Image

_DATA_URL = re.compile(r"data:[^,;]*(?:;[^,;]+)*;base64,", re.IGNORECASE)


def image_of(data: bytes) -> Image:
    """The image that these bytes are. Its kind is read off them: providers call a JPEG a PNG."""
    if media_type := _media_type(data):
        return Image(data, media_type)
    raise StreamCut("the provider sent something that is not an image")


def image_of_base64(text: str) -> Image:
    """Raises StreamCut for what is no base64 or no image."""
    try:
        return image_of(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        raise StreamCut("the provider sent an image that is not base64") from None


def image_at(url: str) -> Image | ImageLink:
    """The image in a data URL, or where it is."""
    if match := _DATA_URL.match(url):
        return image_of_base64(url[match.end() :])
    return ImageLink(url)


def _media_type(data: bytes) -> str | None:
    """Source: https://mimesniff.spec.whatwg.org/#matching-an-image-type-pattern."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:14] == b"WEBPVP":
        return "image/webp"
    return "image/avif" if data[4:12] in (b"ftypavif", b"ftypavis") else None
