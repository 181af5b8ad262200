"""OpenAI's chat wire: the bytes for each case."""

import json
from pathlib import Path
from typing import Any

from tests.providers.cases import Sample

FIXTURES = Path(__file__).parent / "fixtures" / "openai_chat"
HAND = "hand-built"


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "chatcmpl-a", "object": "chat.completion.chunk", "choices": [choice]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def _call(index: int, arguments: str, call_id: str | None = None, name: str | None = None) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}


def _body(*deltas: dict[str, Any], finish: str = "stop") -> bytes:
    return b"".join(map(_chunk, deltas)) + _chunk({}, finish) + DONE


def _read(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def _refused(place: int) -> Sample:
    answer = json.loads(_read("errors.json"))["answers"][place]
    headers = tuple(answer["headers"].items())
    return Sample(HAND, json.dumps(answer["body"]).encode(), status=answer["status"], headers=headers)


DONE = b"data: [DONE]\n\n"
PARIS_BEGINS = _call(0, '{"city":', "call_Paris1", "get_weather")
ROME_BEGINS = _call(1, '{"city":', "call_Rome2", "get_weather")

SAMPLES = {
    "text": Sample(HAND, _read("text.sse")),
    "text outside ASCII": Sample(HAND, _body({"content": "Grüße, "}, {"content": "世界 🎉"})),
    "text cut at the token limit": Sample(HAND, _body({"content": "Hel"}, finish="length")),
    "refused by the content filter": Sample(HAND, _body({"content": ""}, finish="content_filter")),
    "two calls": Sample(HAND, _read("tool_calls.sse")),
    "two calls, their arguments interleaved": Sample(
        HAND,
        _body(
            PARIS_BEGINS,
            ROME_BEGINS,
            _call(0, '"Paris"}'),
            _call(1, '"Rome"}', call_id=""),
            finish="tool_calls",
        ),
    ),
    "a call with empty arguments": Sample(
        HAND, _body(_call(0, "", "call_1", "get_time"), finish="tool_calls")
    ),
    "text and a call": Sample(
        HAND, _body({"content": "Let me look."}, PARIS_BEGINS, _call(0, '"Paris"}'), finish="tool_calls")
    ),
    "noise between the events": Sample(
        HAND,
        b": OPENROUTER PROCESSING\n\n\n\nid: 7\nretry: 100\n"
        + _body({"content": "Hel"}, {}, {"content": "lo"}).replace(b"data: ", b"data:").removesuffix(b"\n"),
    ),
    "CRLF line ends": Sample(HAND, _read("text.sse").replace(b"\n", b"\r\n")),
    "no terminal event": Sample(HAND, _chunk({"content": "Hel"})),
    "an empty body": Sample(HAND, b""),
    "the connection breaks in mid-stream": Sample(HAND, _chunk({"content": "Hel"}), abrupt=True),
    "the connection breaks inside a call": Sample(HAND, _chunk(PARIS_BEGINS), abrupt=True),
    "an error inside HTTP 200": Sample(HAND, _read("error_in_stream.sse")),
    "something that is not JSON": Sample(HAND, b"data: <html>\n\n"),
    "rate limited": _refused(0),
    "no money left": _refused(1),
    "wrong key": _refused(2),
    "request at fault": _refused(3),
    "server error": Sample(HAND, b'{"error": {"message": "Oh no", "type": "server_error"}}', status=500),
    "overloaded": Sample(HAND, b'{"error": {"message": "The engine is overloaded"}}', status=503),
    "an error page in HTML": Sample(HAND, b"<html><h1>502 Bad Gateway</h1></html>", status=502),
}

NOT_APPLICABLE: dict[str, str] = {}
"""Case → why this wire cannot have it."""
