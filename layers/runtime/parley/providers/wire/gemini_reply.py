"""Google's Gemini: how a reply is read.

Server-sent events of ``GenerateContentResponse``; the end is a ``finishReason``, or a ``promptFeedback`` with
a ``blockReason`` and no candidate. There is no ``[DONE]``. An error in mid-stream comes as an event, or as
bare JSON behind the events. Source: streams parsed by the official SDK.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from parley.domain.errors import ProviderError, RetryableProviderError, StreamCut
from parley.domain.messages import Usage
from parley.providers.wire.failures import error_for_status, error_in_stream, read_json, retry_after
from parley.providers.wire.shapes import as_count, as_list, as_object
from parley.providers.wire.sse import decode_events
from parley.turns.model_ports import Delta, Finish, TextDelta, ToolArgumentsDelta, ToolCallStart

CALL_SIGNATURE = "thought_signature"
"""In a call's metadata: the signature of its part."""
TEXT_SIGNATURES = "text_signatures"
"""In a message's provider data: ``[start, end, signature]`` of each signed stretch of its text."""

BLOCKED = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)
_BROKEN = frozenset({"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"})
"""The model wrote a call that Google could not read: asked again it mostly writes a good one."""
_SSE_LINE = re.compile(r"(?:data|event|id|retry)?:|$")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


def decode_stream(lines: Iterable[str]) -> Iterator[Delta]:
    """Responses to deltas."""
    reply = _Reply()
    try:
        for response in _responses(lines):
            yield from reply.take(response)
    except RetryableProviderError:
        # Nothing is lost if the connection breaks behind the end.
        if reply.finish_reason is None:
            raise
    yield reply.finish()


def _responses(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects of the events, then those of a body that is not made of events."""
    bare: list[str] = []

    def events() -> Iterator[str]:
        for line in lines:
            if _SSE_LINE.match(line):
                yield line
            else:
                bare.append(line)

    for event in decode_events(events()):
        yield _object(read_json(event.data))
    if bare:
        value = read_json("\n".join(bare))
        yield from map(_object, value if isinstance(value, list) else [value])


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise StreamCut("the provider sent something that is not a JSON object")
    return value


class _Reply:
    """What has come of one reply so far."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self._usage: Usage | None = None
        self._calls = 0
        self._length = 0
        self._signatures: list[tuple[int, int, str]] = []

    def take(self, response: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of one response. Raises if it tells of an error."""
        if response.get("error"):
            raise error_of(response, None, {})
        self._usage = _usage(response) or self._usage
        if as_object(response.get("promptFeedback")).get("blockReason") and not response.get("candidates"):
            self.finish_reason = "PROHIBITED_CONTENT"
        for candidate in map(as_object, as_list(response.get("candidates"))):
            if candidate.get("index", 0) not in (0, None):
                continue
            for part in map(as_object, as_list(as_object(candidate.get("content")).get("parts"))):
                yield from self._part(part)
            reason = candidate.get("finishReason")
            if isinstance(reason, str) and reason not in ("", "FINISH_REASON_UNSPECIFIED"):
                self.finish_reason = reason

    def _part(self, part: dict[str, Any]) -> Iterator[Delta]:
        text, signature = part.get("text"), part.get("thoughtSignature")
        signature = signature if isinstance(signature, str) else ""
        if part.get("functionCall"):
            yield from self._call(as_object(part["functionCall"]), signature)
        elif isinstance(text, str) and not part.get("thought"):
            start = self._length
            self._length += len(text)
            if signature:
                self._sign(start, signature)
            if text:
                yield TextDelta(text)

    def _sign(self, start: int, signature: str) -> None:
        """A signature on an empty part is of the text before it; an empty part is never sent back."""
        if start == self._length:
            start = self._signatures[-1][1] if self._signatures else 0
        if start < self._length:
            self._signatures.append((start, self._length, signature))

    def _call(self, call: dict[str, Any], signature: str) -> Iterator[Delta]:
        """Calls come whole."""
        name = call.get("name")
        if not isinstance(name, str) or not name:
            raise StreamCut("the provider sent a function call without a name")
        call_id = call.get("id")
        index, self._calls = self._calls, self._calls + 1
        metadata = {CALL_SIGNATURE: signature} if signature else {}
        yield ToolCallStart(index, name, call_id if isinstance(call_id, str) else None, metadata)
        yield ToolArgumentsDelta(index, json.dumps(call.get("args") or {}, ensure_ascii=False))

    def finish(self) -> Finish:
        """The terminal event. Raises if none came, or if the model's call was not readable."""
        reason = self.finish_reason
        if reason is None:
            raise StreamCut("the stream ended without a finish reason")
        if reason in _BROKEN:
            raise StreamCut(f"the model's reply could not be read ({reason})")
        if reason in BLOCKED:
            ended = "content_filter"
        elif reason == "MAX_TOKENS":
            ended = "length"
        else:
            ended = "tool_calls" if self._calls else "stop"
        data = {TEXT_SIGNATURES: [list(entry) for entry in self._signatures]} if self._signatures else {}
        return Finish(ended, self._usage, data)


def _usage(response: dict[str, Any]) -> Usage | None:
    """What is thought is paid as output, and counted apart."""
    usage = as_object(response.get("usageMetadata"))
    if not usage:
        return None
    return Usage(
        input_tokens=as_count(usage.get("promptTokenCount")) + as_count(usage.get("toolUsePromptTokenCount")),
        output_tokens=as_count(usage.get("candidatesTokenCount")) + as_count(usage.get("thoughtsTokenCount")),
    )


def error_of(body: str | dict[str, Any], status: int | None, headers: Mapping[str, str]) -> ProviderError:
    """The error in a body; ``status`` is None inside HTTP 200."""
    value = read_json(body) if isinstance(body, str) else body
    value = value[0] if isinstance(value, list) and value else value
    error = as_object(value).get("error")
    fields = error if isinstance(error, dict) else {"message": error}
    words = fields.get("message")
    words = words if isinstance(words, str) and words else body if isinstance(body, str) else str(words)
    details = [as_object(detail) for detail in as_list(fields.get("details"))]
    if status is None:
        code = fields.get("code")
        return error_in_stream(words, status=code if isinstance(code, int) else None)
    reasons = {str(detail.get("reason") or "") for detail in details}
    if reasons & {"API_KEY_INVALID", "API_KEY_EXPIRED"}:
        status = 401  # it comes as 400
    waits = retry_after(headers)
    return error_for_status(
        status,
        words,
        # A day's quota is not worth a retry, though it comes with a delay of seconds like any other.
        code="insufficient_quota" if _of_the_day(details) else "",
        retry_after=_delay(details) if waits is None else waits,
        overloaded=status == 503 and "overload" in words.lower(),
    )


def _of_the_day(details: list[dict[str, Any]]) -> bool:
    violations = [as_object(each) for detail in details for each in as_list(detail.get("violations"))]
    return any("PerDay" in str(violation.get("quotaId") or "") for violation in violations)


def _delay(details: list[dict[str, Any]]) -> float | None:
    """``RetryInfo.retryDelay``, such as ``"34s"`` or ``"1.5s"``."""
    for detail in details:
        match = _SECONDS.fullmatch(str(detail.get("retryDelay") or ""))
        if match:
            return float(match[1])
    return None
