"""Anthropic's Messages API: the wire as a whole, and how its replies are read.

The reply is server-sent events up to ``message_stop``: blocks by ``index`` (text, tool_use, thinking), then
``message_delta`` with the reason to end and the tokens used. Source: streams in the shapes that the official
SDK parses, and https://docs.claude.com/en/docs/build-with-claude/streaming. Requests: ``anthropic_request``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from parley.domain.errors import ProviderError, RetryableProviderError, StreamCut
from parley.domain.messages import Usage
from parley.providers.wire.anthropic_request import encode, path
from parley.providers.wire.block_order import BlockOrder
from parley.providers.wire.failures import error_for_status, error_in_stream, read_json, retry_after
from parley.providers.wire.ndjson import object_in
from parley.providers.wire.shapes import as_count, as_list, as_object
from parley.providers.wire.sse import decode_events, json_or_lines
from parley.turns.model_ports import Delta, Finish, TextDelta, ToolArgumentsDelta, ToolCallStart

__all__ = ["decode_error", "decode_stream", "encode", "path"]

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "content_filter",
}
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
_NO_CREDIT = "credit balance is too low"


def decode_stream(lines: Iterable[str]) -> Iterator[Delta]:
    """Events to deltas. A reply has ended once its reason to end has come."""
    reply = _Reply()
    try:
        for kind, event in _events(lines):
            yield from reply.take(kind, event)
            if kind == "message_stop":
                break
    except RetryableProviderError:
        # Nothing is lost if the connection breaks behind the end.
        if reply.stop_reason is None:
            raise
    yield reply.finish()


def _events(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Kind and content of each event. A body that is one JSON object is one event (an error, a whole message)."""
    whole, lines = json_or_lines(lines)
    if whole:
        event = object_in(whole)
        yield str(event.get("type") or ""), event
    for sent in decode_events(lines):
        if sent.data.strip():
            event = object_in(sent.data)
            yield str(event.get("type") or sent.event), event


@dataclass(slots=True)
class _Block:
    """A block that has begun. ``number`` counts calls; ``input``: arguments that came with the start."""

    kind: str
    number: int = 0
    input: str = ""
    thinking: str = ""
    signature: str = ""


class _Reply:
    """What has come of one reply so far."""

    def __init__(self) -> None:
        self.stop_reason: str | None = None
        self._blocks: dict[int, _Block] = {}
        self._calls = 0
        self._order = BlockOrder()
        self._input_tokens = 0
        self._output_tokens = 0
        self._counted = False

    def take(self, kind: str, event: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of one event; kinds that are not known (ping and those to come) say nothing."""
        match kind:
            case "error":
                raise _error_of(event, None, {})
            case "message_start":
                self._count(as_object(as_object(event.get("message")).get("usage")))
            case "content_block_start":
                yield from self._start(_index(event), as_object(event.get("content_block")))
            case "content_block_delta":
                yield from self._delta(_index(event), as_object(event.get("delta")))
            case "content_block_stop":
                yield from self._stop(_index(event))
            case "message_delta":
                self._end(as_object(event.get("delta")), as_object(event.get("usage")))
            case "message":
                yield from self._whole(event)
            case _:
                pass

    def _start(self, index: int, content: dict[str, Any]) -> Iterator[Delta]:
        block = _Block(str(content.get("type") or ""))
        self._blocks[index] = block
        match block.kind:
            case "text":
                yield from self._text(content.get("text"))
            case "tool_use":
                name = content.get("name")
                if not isinstance(name, str) or not name:
                    raise StreamCut("the provider sent a tool call without a name")
                block.number, block.input = self._calls, _input(content.get("input"))
                self._calls += 1
                self._order.call()
                yield ToolCallStart(block.number, name, str(content.get("id") or "") or None)
            case "thinking":
                block.thinking, block.signature = (
                    _str(content.get("thinking")),
                    _str(content.get("signature")),
                )
            case "redacted_thinking":
                self._order.kept(content)
            case _:
                pass

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[Delta]:
        block = self._blocks.get(index, _Block(""))
        match delta.get("type"):
            case "text_delta":
                yield from self._text(delta.get("text"))
            case "input_json_delta" if block.kind == "tool_use":
                if part := _str(delta.get("partial_json")):
                    block.input = ""
                    yield ToolArgumentsDelta(block.number, part)
            case "thinking_delta":
                block.thinking += _str(delta.get("thinking"))
            case "signature_delta":
                block.signature += _str(delta.get("signature"))
            case _:
                pass

    def _stop(self, index: int) -> Iterator[Delta]:
        block = self._blocks.pop(index, _Block(""))
        if block.kind == "tool_use" and block.input:
            yield ToolArgumentsDelta(block.number, block.input)
        if block.kind == "thinking" and block.signature:
            self._order.kept({"type": "thinking", "thinking": block.thinking, "signature": block.signature})

    def _whole(self, message: dict[str, Any]) -> Iterator[Delta]:
        """A reply that was not streamed."""
        for index, content in enumerate(map(as_object, as_list(message.get("content")))):
            yield from self._start(index, content)
            yield from self._stop(index)
        self._end(message, as_object(message.get("usage")))

    def _text(self, value: Any) -> Iterator[Delta]:
        if text := _str(value):
            self._order.text(len(text))
            yield TextDelta(text)

    def _end(self, delta: dict[str, Any], usage: dict[str, Any]) -> None:
        if isinstance(delta.get("stop_reason"), str):
            self.stop_reason = delta["stop_reason"]
        self._count(usage)

    def _count(self, usage: dict[str, Any]) -> None:
        """Counts are cumulative. What was read from or written to the cache is input too, counted apart."""
        parts = [
            usage.get(name)
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        ]
        if any(part is not None for part in parts):
            self._input_tokens = max(self._input_tokens, sum(map(as_count, parts)))
        self._output_tokens = max(self._output_tokens, as_count(usage.get("output_tokens")))
        self._counted = self._counted or bool(usage)

    def finish(self) -> Finish:
        """The terminal event. Raises StreamCut if none came."""
        if self.stop_reason is None:
            raise StreamCut("the stream ended without a stop reason")
        reason = _REASONS.get(self.stop_reason, "stop")
        if reason in {"stop", "tool_calls"}:
            reason = "tool_calls" if self._calls else "stop"
        usage = Usage(input_tokens=self._input_tokens, output_tokens=self._output_tokens)
        return Finish(reason, usage if self._counted else None, self._order.provider_data())


def _index(event: dict[str, Any]) -> int:
    return as_count(event.get("index"))


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _input(value: Any) -> str:
    """Arguments that came whole, as JSON text; usually they follow in pieces and this is empty."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) and value else ""


def decode_error(status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """``{"type": "error", "error": {type, message}, "request_id"}``, or any text."""
    value = read_json(body)
    return _error_of(value if isinstance(value, dict) else {"error": body}, status, headers)


def _error_of(answer: dict[str, Any], status: int | None, headers: Mapping[str, str]) -> ProviderError:
    error = answer.get("error") or answer.get("message") or answer.get("detail") or ""
    fields = error if isinstance(error, dict) else {"message": error}
    words = fields.get("message") or error
    words = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
    kind = _str(fields.get("type"))
    known = 402 if _NO_CREDIT in words.lower() else _STATUS.get(kind)
    if status is None:
        return error_in_stream(words, kind=kind, status=known)
    code = "billing_not_active" if known == 402 else ""
    overloaded = kind == "overloaded_error"
    return error_for_status(status, words, code=code, retry_after=retry_after(headers), overloaded=overloaded)
