"""Text generation as Hugging Face's inference servers speak it.

``POST {base}/models/{model}`` (or ``/`` of a server of one model) with ``inputs``, ``parameters`` and ``stream``;
the reply is server-sent events of one ``token`` each, the last with ``generated_text`` and ``details``, and no
``[DONE]``. Models that cannot stream answer with one JSON text. Functions are called in the text. Source: requests
recorded from the official client and https://huggingface.github.io/text-generation-inference/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from parley.domain.errors import ProviderError, StreamCut
from parley.domain.messages import Usage
from parley.prompts.concatenated import stop_sequences, text_of
from parley.prompts.prompt import Prompt
from parley.providers.wire.failures import (
    error_for_status,
    error_in_stream,
    loading_seconds,
    read_json,
    retry_after,
)
from parley.providers.wire.ndjson import object_in
from parley.providers.wire.shapes import as_count, as_object
from parley.providers.wire.sse import decode_events, json_or_lines
from parley.turns.model_ports import Delta, Finish, TextDelta

PARAMETERS = (
    "temperature",
    "top_p",
    "top_k",
    "typical_p",
    "seed",
    "do_sample",
    "repetition_penalty",
    "frequency_penalty",
    "max_new_tokens",
    "truncate",
)
MOST_STOPS = 4
"""Servers refuse more, unless they were started with another limit."""
_BUSY_KINDS = {"overloaded", "unhealthy"}
_KINDS = {"validation": "invalid_request_error", "overloaded": "overloaded_error"}


def path(prompt: Prompt) -> str:
    """The model's own; its name may have a slash."""
    return f"/models/{quote(prompt.model)}"


def encode(prompt: Prompt) -> dict[str, Any]:
    """The request body; ``extra_body`` in the settings is merged in, its ``parameters`` into ours."""
    settings = prompt.settings
    parameters = {name: settings[name] for name in PARAMETERS if settings.get(name) is not None}
    if settings.get("max_tokens") is not None:
        parameters.setdefault("max_new_tokens", settings["max_tokens"])
    if parameters.get("temperature") == 0:  # refused: zero means no sampling
        del parameters["temperature"]
        parameters.setdefault("do_sample", False)
    if parameters.get("top_p") == 1:  # refused, and what happens without it
        del parameters["top_p"]
    parameters |= {"stop": stop_sequences(prompt, MOST_STOPS), "return_full_text": False, "details": True}
    if prompt.response_schema is not None:
        parameters["grammar"] = {"type": "json", "value": prompt.response_schema}
    extra = dict(as_object(settings.get("extra_body")))
    parameters |= as_object(extra.pop("parameters", None))
    return {"inputs": text_of(prompt), "parameters": parameters, "stream": True, **extra}


def decode_stream(lines: Iterable[str]) -> Iterator[Delta]:
    """Events to deltas; special tokens such as ``</s>`` are left out. The event with the whole text is the end."""
    whole, lines = json_or_lines(lines)
    if whole:
        yield from _whole(whole)
        return
    for event in decode_events(lines):
        if not event.data.strip() or event.data.strip() == "[DONE]":
            continue
        chunk = object_in(event.data)
        _check(chunk)
        token = as_object(chunk.get("token"))
        if isinstance(token.get("text"), str) and token["text"] and not token.get("special"):
            yield TextDelta(token["text"])
        if isinstance(chunk.get("generated_text"), str):
            yield _finish(as_object(chunk.get("details")))
            return
    raise StreamCut("the stream ended without the event that has the whole text")


def _whole(body: str) -> Iterator[Delta]:
    """A reply that was not streamed: ``{"generated_text"}``, alone or in a list."""
    value = read_json(body)
    answer = as_object(value[0] if isinstance(value, list) and value else value)
    _check(answer)
    text = answer.get("generated_text")
    if not isinstance(text, str):
        raise StreamCut("the provider's answer has no generated text")
    if text:
        yield TextDelta(text)
    yield _finish(as_object(answer.get("details")))


def _check(chunk: dict[str, Any]) -> None:
    if chunk.get("error"):
        kind = str(chunk.get("error_type") or "")
        raise error_in_stream(str(chunk["error"]), kind=_KINDS.get(kind, kind))


def _finish(details: dict[str, Any]) -> Finish:
    usage = None
    if details:
        usage = Usage(
            input_tokens=as_count(details.get("input_length")),
            output_tokens=as_count(details.get("generated_tokens")),
        )
    return Finish("length" if details.get("finish_reason") == "length" else "stop", usage)


def decode_error(status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """``{"error", "error_type", "estimated_time"}``; the time is what a model still needs to load, in seconds."""
    value = read_json(body)
    fields = as_object(value)
    error = fields.get("error") or body
    words = str(as_object(error).get("message") or error)
    loading = loading_seconds(value)
    return error_for_status(
        status,
        words,
        retry_after=retry_after(headers) if loading is None else loading,
        overloaded=status in {429, 503}
        and (loading is not None or fields.get("error_type") in _BUSY_KINDS or "loading" in words.lower()),
    )
