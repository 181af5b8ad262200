"""Images over OpenRouter: a chat completion with image output, whose deltas carry ``images`` as data URLs.

Source: requests recorded from the official OpenAI SDK pointed at OpenRouter, and
https://openrouter.ai/docs/guides/overview/multimodal/image-generation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from parley.domain.errors import ProviderRejectedRequest, StreamCut
from parley.providers.wire import openai_chat
from parley.providers.wire.failures import read_json, shorten
from parley.providers.wire.image_bytes import image_at
from parley.providers.wire.openai_chat import decode_error
from parley.providers.wire.protocol import ImageLink
from parley.providers.wire.shapes import as_list, as_object
from parley.providers.wire.sse import decode_events, decode_lines
from parley.turns.model_ports import Image, ImageOptions, TextDelta

__all__ = ["decode", "decode_error", "encode", "path"]


def path(options: ImageOptions) -> str:
    """The same for every model."""
    return "/chat/completions"


def encode(prompt: str, options: ImageOptions) -> dict[str, Any]:
    """The request body. A model that makes images alone wants ``modalities: ["image"]`` in the settings."""
    body: dict[str, Any] = {
        "model": options.model,
        "stream": True,
        "messages": [{"role": "user", "content": prompt}],
        "modalities": ["image", "text"],
    }
    wanted = {"aspect_ratio": options.aspect_ratio, "size": options.size, "quality": options.quality}
    if config := {name: value for name, value in wanted.items() if value}:
        body["image_config"] = config
    return body | dict(options.settings)


def decode(body: bytes) -> Image | ImageLink:
    """The first image of the stream, if the stream has its end."""
    lines = list(decode_lines([body]))
    said = [delta.text for delta in openai_chat.decode_stream(lines) if isinstance(delta, TextDelta)]
    for url in _urls(lines):
        return image_at(url)
    if said:
        raise ProviderRejectedRequest(f"the model made no image: {shorten(''.join(said))}")
    raise StreamCut("the answer holds no image")


def _urls(lines: list[str]) -> Iterator[str]:
    for event in decode_events(lines):
        for choice in map(as_object, as_list(as_object(read_json(event.data)).get("choices"))):
            delta = as_object(choice.get("delta") or choice.get("message"))
            for image in map(as_object, as_list(delta.get("images"))):
                url = as_object(image.get("image_url")).get("url")
                if isinstance(url, str):
                    yield url
