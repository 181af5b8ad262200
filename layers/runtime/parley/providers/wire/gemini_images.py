"""Images that Gemini makes: ``POST {base}/models/{model}:generateContent``, answered by ``inlineData`` parts.

Source: requests recorded from the official SDK and https://ai.google.dev/gemini-api/docs/image-generation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from parley.domain.errors import ProviderRejectedRequest, StreamCut
from parley.providers.wire.failures import read_json, shorten
from parley.providers.wire.gemini import decode_error, model_path
from parley.providers.wire.gemini_reply import BLOCKED
from parley.providers.wire.image_bytes import image_of_base64
from parley.providers.wire.shapes import as_list, as_object
from parley.turns.model_ports import Image, ImageOptions

__all__ = ["decode", "decode_error", "encode", "path"]

_REFUSED = BLOCKED | {"NO_IMAGE"}


def path(options: ImageOptions) -> str:
    """The model is part of the address."""
    return f"/{model_path(options.model)}:generateContent"


def encode(prompt: str, options: ImageOptions) -> dict[str, Any]:
    """The request body; ``settings`` go into ``generationConfig``. There are aspect ratios instead of sizes."""
    config: dict[str, Any] = {"responseModalities": ["TEXT", "IMAGE"]}
    if options.aspect_ratio:
        config["imageConfig"] = {"aspectRatio": options.aspect_ratio}
    return {
        "contents": [{"role": "user", "parts": [{"text": prompt}]}],
        "generationConfig": config | dict(options.settings),
    }


def decode(body: bytes) -> Image:
    """The first image part. A model that will not draw says why in words, or only that it was blocked."""
    answer = as_object(read_json(body.decode("utf-8", "replace")))
    candidates = [as_object(candidate) for candidate in as_list(answer.get("candidates"))]
    said: list[str] = []
    for part in _parts(candidates):
        data = as_object(part.get("inlineData")).get("data")
        if isinstance(data, str) and not part.get("thought"):
            return image_of_base64(data)
        if isinstance(part.get("text"), str):
            said.append(part["text"])
    reasons = [str(candidate.get("finishReason") or "") for candidate in candidates]
    blocked = as_object(answer.get("promptFeedback")).get("blockReason")
    if said or blocked or _REFUSED & {*reasons}:
        why = shorten(" ".join(said)) or str(blocked or reasons[0])
        raise ProviderRejectedRequest(f"the model made no image: {why}")
    raise StreamCut("the answer holds no image")


def _parts(candidates: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for candidate in candidates:
        yield from map(as_object, as_list(as_object(candidate.get("content")).get("parts")))
