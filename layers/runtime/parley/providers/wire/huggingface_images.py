"""Images from Hugging Face's inference servers: ``POST {base}/models/{model}``, answered by the image's bytes.

Source: requests recorded from the official client.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from parley.domain.errors import StreamCut
from parley.providers.wire.failures import read_json, shorten
from parley.providers.wire.image_bytes import image_of
from parley.providers.wire.shapes import as_object
from parley.providers.wire.text_generation import decode_error
from parley.turns.model_ports import Image, ImageOptions

__all__ = ["decode", "decode_error", "encode", "path"]

_SIZE = re.compile(r"(\d+)x(\d+)")


def path(options: ImageOptions) -> str:
    """The model's own; its name may have a slash."""
    return f"/models/{quote(options.model)}"


def encode(prompt: str, options: ImageOptions) -> dict[str, Any]:
    """The request body; ``settings`` are its ``parameters``."""
    parameters: dict[str, Any] = {}
    if match := _SIZE.fullmatch(options.size or ""):
        parameters = {"width": int(match[1]), "height": int(match[2])}
    return {"inputs": prompt, "parameters": parameters | dict(options.settings)}


def decode(body: bytes) -> Image:
    """The body itself."""
    if body[:1] in (b"{", b"["):
        error = as_object(read_json(body.decode("utf-8", "replace"))).get("error")
        raise StreamCut(shorten(str(error or "the answer holds no image")))
    return image_of(body)
