"""Amazon Bedrock's Converse API: how its events and errors are read.

Bedrock has its own framing and signatures, which boto3 knows; this module starts where boto3 ends, at events
such as ``{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hel"}}}``. A reply ends with
``messageStop``; ``metadata`` with the tokens used comes behind it. Source: boto3's service model and
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from parley.domain.errors import ProviderError, RetryableProviderError, StreamCut
from parley.domain.messages import Usage
from parley.providers.wire.bedrock_request import encode
from parley.providers.wire.block_order import BlockOrder
from parley.providers.wire.failures import error_for_status, error_in_stream, retry_after
from parley.providers.wire.shapes import as_count, as_object
from parley.turns.model_ports import Delta, Finish, TextDelta, ToolArgumentsDelta, ToolCallStart

__all__ = ["decode_error", "decode_events", "encode"]

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
}
_MALFORMED = {"malformed_model_output", "malformed_tool_use"}
_STATUS = {
    "validationexception": 400,
    "servicequotaexceededexception": 402,
    "accessdeniedexception": 403,
    "expiredtokenexception": 403,
    "incompletesignatureexception": 403,
    "invalidsignatureexception": 403,
    "missingauthenticationtokenexception": 403,
    "unrecognizedclientexception": 403,
    "resourcenotfoundexception": 404,
    "modeltimeoutexception": 408,
    "throttlingexception": 429,
    "modelnotreadyexception": 529,
    # 424 on the wire, a sender's fault by its number; what failed is the model.
    "modelerrorexception": 500,
    "modelstreamerrorexception": 500,
    "internalserverexception": 500,
    "serviceunavailableexception": 503,
}
_NO_PAYMENT = "INVALID_PAYMENT_INSTRUMENT"
_CANONICAL = "The Canonical String"
"""From here on, a complaint about a signature repeats the request's headers, the session token too."""


def decode_events(events: Iterable[Mapping[str, Any]]) -> Iterator[Delta]:
    """boto3's events to deltas; ends with Finish or raises a ProviderError.

    ``events`` may itself raise a ProviderError: the connection broke, or the model did.
    """
    reply = _Reply()
    try:
        for event in events:
            yield from reply.take(event)
    except RetryableProviderError:
        # Nothing is lost if the connection breaks behind the end: only the usage may be missing.
        if reply.stop_reason is None:
            raise
    yield reply.finish()


@dataclass(slots=True)
class _Block:
    """A block that has begun: a call (``number`` counts them), a call that Bedrock answers itself, or neither."""

    number: int | None = None
    theirs: bool = False
    thought: str = ""
    signature: str = ""
    redacted: bytes = b""


class _Reply:
    """What has come of one reply so far."""

    def __init__(self) -> None:
        self.stop_reason: str | None = None
        self._blocks: dict[int, _Block] = {}
        self._calls = 0
        self._order = BlockOrder()
        self._usage: Usage | None = None

    def take(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        """The deltas of one event; kinds that are not known say nothing."""
        match event:
            case {"contentBlockStart": dict(content)}:
                yield from self._start(_index(content), as_object(content.get("start")))
            case {"contentBlockDelta": dict(content)}:
                yield from self._delta(_index(content), as_object(content.get("delta")))
            case {"contentBlockStop": dict(content)}:
                self._stop(_index(content))
            case {"messageStop": dict(content)}:
                self._end(str(content.get("stopReason") or ""))
            case {"metadata": dict(content)}:
                self._usage = _usage(as_object(content.get("usage")))
            case _:
                pass

    def _start(self, index: int, start: dict[str, Any]) -> Iterator[Delta]:
        block = self._blocks[index] = _Block()
        call = as_object(start.get("toolUse"))
        if not call:
            return
        if call.get("type") == "server_tool_use":
            block.theirs = True
            return
        name = call.get("name")
        if not isinstance(name, str) or not name:
            raise StreamCut("the provider sent a tool call without a name")
        block.number = self._calls
        self._calls += 1
        self._order.call()
        yield ToolCallStart(block.number, name, str(call.get("toolUseId") or "") or None)

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[Delta]:
        block = self._blocks.setdefault(index, _Block())
        match delta:
            case {"text": str(text)} if text:
                self._order.text(len(text))
                yield TextDelta(text)
            case {"toolUse": {"input": str(part)}} if part and not block.theirs:
                if block.number is None:
                    raise StreamCut("the provider sent arguments of a call that never began")
                yield ToolArgumentsDelta(block.number, part)
            case {"reasoningContent": dict(thought)}:
                block.thought += str(thought.get("text") or "")
                block.signature += str(thought.get("signature") or "")
                redacted = thought.get("redactedContent")
                block.redacted += redacted if isinstance(redacted, bytes) else b""
            case _:
                pass

    def _stop(self, index: int) -> None:
        block = self._blocks.pop(index, _Block())
        if block.signature:
            text = {"text": block.thought, "signature": block.signature}
            self._order.kept({"reasoningContent": {"reasoningText": text}})
        if block.redacted:
            encoded = base64.b64encode(block.redacted).decode("ascii")
            self._order.kept({"reasoningContent": {"redactedContent": encoded}})

    def _end(self, reason: str) -> None:
        if reason in _MALFORMED:
            raise StreamCut("the model's output was malformed")
        self.stop_reason = reason

    def finish(self) -> Finish:
        """The terminal event. Raises StreamCut if none came."""
        if self.stop_reason is None:
            raise StreamCut("the stream ended without a stop reason")
        reason = _REASONS.get(self.stop_reason, "stop")
        if reason in {"stop", "tool_calls"}:
            reason = "tool_calls" if self._calls else "stop"
        return Finish(reason, self._usage, self._order.provider_data())


def _index(content: dict[str, Any]) -> int:
    return as_count(content.get("contentBlockIndex"))


def _usage(usage: dict[str, Any]) -> Usage:
    """What was read from or written to the cache is input too, counted apart."""
    parts = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    return Usage(
        input_tokens=sum(as_count(usage.get(part)) for part in parts),
        output_tokens=as_count(usage.get("outputTokens")),
    )


def decode_error(code: str, words: str, *, status: int | None, headers: Mapping[str, str]) -> ProviderError:
    """The error that a service error stands for. ``code``: its name, such as ``ThrottlingException``;
    ``status``: None for one that came inside a stream. Header names are lower case.
    """
    words = words.partition(_CANONICAL)[0].strip() or code
    known = _STATUS.get(code.lower())
    if _NO_PAYMENT in words:
        known = 402
    if status is None:
        return error_in_stream(words, status=known)
    return error_for_status(known or status, words, retry_after=retry_after(headers))
