"""Bedrock's Converse API: the bytes for each case."""

import base64
import json
from pathlib import Path
from typing import Any

from tests.providers.cases import Sample
from tests.support.event_stream import event

FIXTURES = Path(__file__).parent / "fixtures" / "bedrock"
HAND = "hand-built"


def begin(index: int, call_id: str) -> bytes:
    start = {"toolUse": {"toolUseId": call_id, "name": "get_weather"}}
    return event("contentBlockStart", {"contentBlockIndex": index, "start": start})


def delta(index: int, **content: Any) -> bytes:
    return event("contentBlockDelta", {"contentBlockIndex": index, "delta": content})


def stop(index: int) -> bytes:
    return event("contentBlockStop", {"contentBlockIndex": index})


def text(*parts: str, index: int = 0) -> bytes:
    return b"".join(delta(index, text=part) for part in parts) + stop(index)


def call(index: int, call_id: str, *parts: str) -> bytes:
    given = b"".join(delta(index, toolUse={"input": part}) for part in parts)
    return begin(index, call_id) + given + stop(index)


def body(*blocks: bytes, ends: str = "end_turn") -> bytes:
    usage = {"inputTokens": 9, "outputTokens": 6, "totalTokens": 15}
    return (
        event("messageStart", {"role": "assistant"})
        + b"".join(blocks)
        + event("messageStop", {"stopReason": ends})
        + event("metadata", {"usage": usage, "metrics": {"latencyMs": 1}})
    )


def _read(name: str) -> bytes:
    return base64.b64decode(json.loads((FIXTURES / "streams.json").read_text())[name])


def refused(status: int, code: str, message: str = "No.", **headers: str) -> Sample:
    named = {"x-amzn-errortype": f"{code}:http://internal.amazon.com/coral/", **headers}
    return Sample(HAND, json.dumps({"message": message}).encode(), status, tuple(named.items()))


_STARTED = event("messageStart", {"role": "assistant"}) + delta(0, text="Hel")

SAMPLES = {
    "text": Sample(HAND, _read("text")),
    "text outside ASCII": Sample(HAND, body(text("Grüße, ", "世界 🎉"))),
    "text cut at the token limit": Sample(HAND, body(text("Hel"), ends="max_tokens")),
    "refused by the content filter": Sample(HAND, body(ends="guardrail_intervened")),
    "two calls": Sample(
        HAND,
        body(
            call(0, "tooluse_1", '{"city": "Par', 'is"}'),
            call(1, "tooluse_2", '{"city": "Rome"}'),
            ends="tool_use",
        ),
    ),
    "two calls, their arguments interleaved": Sample(
        HAND,
        body(
            begin(0, "tooluse_1"),
            begin(1, "tooluse_2"),
            delta(0, toolUse={"input": '{"city":'}),
            delta(1, toolUse={"input": '{"city":'}),
            delta(0, toolUse={"input": '"Paris"}'}),
            stop(0),
            delta(1, toolUse={"input": '"Rome"}'}),
            stop(1),
            ends="tool_use",
        ),
    ),
    "a call with empty arguments": Sample(HAND, body(call(0, "tooluse_1", ""), ends="tool_use")),
    "text and a call": Sample(
        HAND,
        body(text("Let me look."), call(1, "tooluse_1", '{"city":', '"Paris"}'), ends="tool_use"),
    ),
    "noise between the events": Sample(
        HAND, body(delta(0, text="Hel"), event("somethingNew", {"a": 1}), text("", "lo"))
    ),
    "no terminal event": Sample(HAND, _STARTED + stop(0)),
    "an empty body": Sample(HAND, b""),
    "the connection breaks in mid-stream": Sample(HAND, _STARTED, abrupt=True),
    "the connection breaks inside a call": Sample(
        HAND, begin(0, "tooluse_1") + delta(0, toolUse={"input": '{"city":'})[:-9], abrupt=True
    ),
    "an error inside HTTP 200": Sample(HAND, _read("error")),
    "something that is not JSON": Sample(HAND, event("messageStart", b"<html>")),
    "rate limited": refused(429, "ThrottlingException", **{"retry-after": "1.85"}),
    "no money left": refused(
        403, "AccessDeniedException", "Model access is denied due to INVALID_PAYMENT_INSTRUMENT: pay."
    ),
    "wrong key": refused(403, "UnrecognizedClientException", "The security token is invalid."),
    "request at fault": refused(400, "ValidationException"),
    "server error": refused(500, "InternalServerException"),
    "overloaded": refused(429, "ModelNotReadyException"),
    "an error page in HTML": Sample(HAND, b"<html><h1>502 Bad Gateway</h1></html>", status=502),
}

NOT_APPLICABLE = {"CRLF line ends": "its frames know no lines"}
"""Case → why this wire cannot have it."""
