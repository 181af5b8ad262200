"""Ollama's completion of one text: ``POST {base}/api/generate``, answered with one JSON object per line.

Each has a piece of ``response``; the last has ``done``. Functions are called in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from parley.domain.errors import StreamCut
from parley.prompts.concatenated import stop_sequences, text_of
from parley.prompts.prompt import Prompt
from parley.providers.wire.ndjson import decode_objects
from parley.providers.wire.ollama_common import check, decode_error, settings_of, usage_of
from parley.turns.model_ports import Delta, Finish, TextDelta

__all__ = ["decode_error", "decode_stream", "encode", "path"]


def path(prompt: Prompt) -> str:
    """The same for every model."""
    return "/api/generate"


def encode(prompt: Prompt) -> dict[str, Any]:
    """The request body; the server puts the text into the model's template unless the setting ``raw`` says no."""
    body = {"model": prompt.model, "stream": True, "prompt": text_of(prompt)}
    return body | settings_of(prompt, stop_sequences(prompt))


def decode_stream(lines: Iterable[str]) -> Iterator[Delta]:
    """Objects to deltas. What a model thinks is left out."""
    for chunk in decode_objects(lines):
        check(chunk)
        if isinstance(chunk.get("response"), str) and chunk["response"]:
            yield TextDelta(chunk["response"])
        if chunk.get("done"):
            yield Finish("length" if chunk.get("done_reason") == "length" else "stop", usage_of(chunk))
            return
    raise StreamCut("the stream ended without its last object")
