"""OpenAI's image generation: ``POST {base}/images/generations``, answered by base64 or by an address.

Source: requests recorded from the official SDK and https://platform.openai.com/docs/api-reference/images.
"""

from __future__ import annotations

from typing import Any

from parley.domain.errors import StreamCut
from parley.providers.wire.failures import read_json
from parley.providers.wire.image_bytes import image_at, image_of_base64
from parley.providers.wire.openai_chat import decode_error
from parley.providers.wire.protocol import ImageLink
from parley.providers.wire.shapes import as_list, as_object
from parley.turns.model_ports import Image, ImageOptions

__all__ = ["decode", "decode_error", "encode", "path"]


def path(options: ImageOptions) -> str:
    """The same for every model."""
    return "/images/generations"


def encode(prompt: str, options: ImageOptions) -> dict[str, Any]:
    """The request body. There are sizes instead of aspect ratios."""
    body: dict[str, Any] = {"model": options.model, "prompt": prompt}
    if options.size:
        body["size"] = options.size
    if options.quality:
        body["quality"] = options.quality
    return body | dict(options.settings)


def decode(body: bytes) -> Image | ImageLink:
    """``data[0].b64_json``, or ``data[0].url`` as older models answer."""
    answer = as_object(read_json(body.decode("utf-8", "replace")))
    for image in map(as_object, as_list(answer.get("data"))):
        if isinstance(image.get("b64_json"), str):
            return image_of_base64(image["b64_json"])
        if isinstance(image.get("url"), str):
            return image_at(image["url"])
    raise StreamCut("the answer holds no image")
