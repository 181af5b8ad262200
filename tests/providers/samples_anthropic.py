"""Anthropic's Messages API: the bytes for each case."""

import json
from pathlib import Path
from typing import Any

from parley.domain.messages import ToolCall
from parley.prompts.prompt import PromptMessage
from tests.providers.cases import Sample

FIXTURES = Path(__file__).parent / "fixtures" / "anthropic"
HAND = "hand-built"
MODEL = "claude-sonnet-4-5"
SETTINGS = {"max_tokens": 256, "tool_choice": "auto"}
_PARIS = ToolCall(tool_call_id="toolu_01Paris", name="get_weather", arguments={"city": "Paris"})
MESSAGES = (
    PromptMessage(role="user", content="Hi, I am Ann."),
    PromptMessage(role="assistant", content="Hi Ann."),
    PromptMessage(role="user", content="What is the weather in Paris?"),
    PromptMessage(role="assistant", content="Let me look.", tool_calls=(_PARIS,)),
    PromptMessage(role="tool", content='{"temp_c":18}', tool_call_id="toolu_01Paris", name="get_weather"),
    PromptMessage(role="user", content="Answer in one line."),
)


def event(kind: str, **fields: Any) -> bytes:
    data = json.dumps({"type": kind, **fields}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()


def begin(index: int, kind: str, **fields: Any) -> bytes:
    return event("content_block_start", index=index, content_block={"type": kind, **fields})


def delta(index: int, kind: str, **fields: Any) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def stop(index: int) -> bytes:
    return event("content_block_stop", index=index)


def text(*parts: str, index: int = 0) -> bytes:
    said = b"".join(delta(index, "text_delta", text=part) for part in parts)
    return begin(index, "text", text="") + said + stop(index)


def call(index: int, call_id: str, *parts: str) -> bytes:
    given = b"".join(delta(index, "input_json_delta", partial_json=part) for part in parts)
    return begin(index, "tool_use", id=call_id, name="get_weather", input={}) + given + stop(index)


def body(*blocks: bytes, ends: str = "end_turn") -> bytes:
    start = {"id": "msg_01", "role": "assistant", "content": [], "usage": {"input_tokens": 9}}
    return (
        event("message_start", message=start)
        + b"".join(blocks)
        + event("message_delta", delta={"stop_reason": ends}, usage={"output_tokens": 6})
        + event("message_stop")
    )


def _read(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def _refused(place: int) -> Sample:
    answer = json.loads(_read("errors.json"))["answers"][place]
    headers = tuple(answer["headers"].items())
    return Sample(HAND, json.dumps(answer["body"]).encode(), status=answer["status"], headers=headers)


def _error(kind: str, message: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


_STARTED = event("message_start", message={"usage": {"input_tokens": 9}}) + begin(0, "text", text="")

SAMPLES = {
    "text": Sample(HAND, _read("text.sse")),
    "text outside ASCII": Sample(HAND, body(text("Grüße, ", "世界 🎉"))),
    "text cut at the token limit": Sample(HAND, body(text("Hel"), ends="max_tokens")),
    "refused by the content filter": Sample(HAND, body(ends="refusal")),
    "two calls": Sample(
        HAND,
        body(
            call(0, "toolu_1", "", '{"city": "Par', 'is"}'),
            call(1, "toolu_2", "", '{"city": "Rome"}'),
            ends="tool_use",
        ),
    ),
    "two calls, their arguments interleaved": Sample(
        HAND,
        body(
            begin(0, "tool_use", id="toolu_1", name="get_weather", input={}),
            begin(1, "tool_use", id="toolu_2", name="get_weather", input={}),
            delta(0, "input_json_delta", partial_json='{"city":'),
            delta(1, "input_json_delta", partial_json='{"city":'),
            delta(0, "input_json_delta", partial_json='"Paris"}'),
            stop(0),
            delta(1, "input_json_delta", partial_json='"Rome"}'),
            stop(1),
            ends="tool_use",
        ),
    ),
    "a call with empty arguments": Sample(HAND, body(call(0, "toolu_1", ""), ends="tool_use")),
    "text and a call": Sample(HAND, _read("thought_and_call.sse")),
    "noise between the events": Sample(
        HAND,
        b": hello\n\nretry: 5\n\n"
        + body(
            event("ping"), begin(0, "text", text="Hel"), event("something_new", index=7), text("lo", index=1)
        ).replace(b"data: ", b"data:"),
    ),
    "CRLF line ends": Sample(HAND, _read("text.sse").replace(b"\n", b"\r\n")),
    "no terminal event": Sample(HAND, _STARTED + delta(0, "text_delta", text="Hel") + stop(0)),
    "an empty body": Sample(HAND, b""),
    "the connection breaks in mid-stream": Sample(
        HAND, _STARTED + delta(0, "text_delta", text="Hel"), abrupt=True
    ),
    "the connection breaks inside a call": Sample(
        HAND, body(call(0, "toolu_1", '{"city":')).partition(b"event: content_block_stop")[0], abrupt=True
    ),
    "an error inside HTTP 200": Sample(
        HAND, _STARTED + b"event: error\ndata: " + _error("api_error", "Internal server error") + b"\n\n"
    ),
    "something that is not JSON": Sample(HAND, b"event: message_start\ndata: <html>\n\n"),
    "rate limited": Sample(
        HAND, _error("rate_limit_error", "Slow down"), status=429, headers=(("retry-after", "1.85"),)
    ),
    "no money left": Sample(
        HAND,
        _error("invalid_request_error", "Your credit balance is too low to access the API."),
        status=400,
    ),
    "wrong key": _refused(2),
    "request at fault": _refused(3),
    "server error": Sample(HAND, _error("api_error", "Internal server error"), status=500),
    "overloaded": _refused(1),
    "an error page in HTML": Sample(HAND, b"<html><h1>502 Bad Gateway</h1></html>", status=502),
}

NOT_APPLICABLE: dict[str, str] = {}
"""Case → why this wire cannot have it."""
