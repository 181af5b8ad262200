"""Google's Gemini wire: the bytes for each case."""

import json
from pathlib import Path
from typing import Any

from parley.domain.messages import ToolCall
from parley.prompts.prompt import PromptMessage
from tests.providers.cases import Sample

FIXTURES = Path(__file__).parent / "fixtures" / "gemini"
HAND = "hand-built"
MODEL = "gemini-2.5-flash"
SETTINGS = {"temperature": 0.2, "max_tokens": 256, "thinking_config": {"include_thoughts": True}}
_PARIS = ToolCall(
    tool_call_id="call_1",
    name="get_weather",
    arguments={"city": "Paris"},
    provider_call_id="fc-1",
    metadata={"thought_signature": "RXhhbXBsZVNpZw=="},
)
MESSAGES = (
    PromptMessage(role="user", content="Hi, I am Ann."),
    PromptMessage(role="assistant", content="Hi Ann."),
    PromptMessage(role="user", content="What is the weather in Paris?"),
    PromptMessage(role="assistant", tool_calls=(_PARIS,), provider="google", model=MODEL),
    PromptMessage(role="tool", content='{"temp_c":18}', tool_call_id="call_1", name="get_weather"),
)


def event(response: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(response, ensure_ascii=False)}\n\n".encode()


def chunk(*parts: dict[str, Any], finish: str | None = None) -> bytes:
    content = {"content": {"parts": list(parts), "role": "model"}} if parts else {}
    ends = {"finishReason": finish} if finish else {}
    return event({"candidates": [{**content, **ends, "index": 0}], "modelVersion": MODEL})


def calling(city: str, call_id: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": "get_weather", "args": {"city": city}, "id": call_id}, **more}


def _read(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def refused(status: int, message: str, status_name: str, *details: dict[str, Any]) -> Sample:
    error = {"code": status, "message": message, "status": status_name, "details": list(details)}
    return Sample(HAND, json.dumps({"error": error}, indent=2).encode(), status=status)


def _recorded_refusal(place: int) -> Sample:
    answer = json.loads(_read("errors.json"))["answers"][place]
    return Sample(HAND, json.dumps(answer["body"], indent=2).encode(), status=answer["status"])


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.85s"}
DAY_GONE = {
    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
    "violations": [{"quotaMetric": "m", "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
}
STOP = chunk({"text": "lo"}, finish="STOP")

SAMPLES = {
    "text": Sample(HAND, _read("text.sse")),
    "text outside ASCII": Sample(
        HAND, chunk({"text": "Grüße, "}) + chunk({"text": "世界 🎉"}, finish="STOP")
    ),
    "text cut at the token limit": Sample(HAND, chunk({"text": "Hel"}, finish="MAX_TOKENS")),
    "refused by the content filter": Sample(HAND, _read("prompt_blocked.sse")),
    "two calls": Sample(
        HAND,
        chunk(
            calling("Paris", "fc-1", thoughtSignature="c2ln"),
            calling("Rome", "fc-2"),
            finish="STOP",
        ),
    ),
    "a call with empty arguments": Sample(
        HAND, chunk({"functionCall": {"name": "get_time", "args": {}}}, finish="STOP")
    ),
    "text and a call": Sample(
        HAND,
        chunk({"text": "Weather, then.", "thought": True})
        + chunk({"text": "Let me look."})
        + chunk(calling("Paris", "fc-1"))
        + chunk(finish="STOP"),
    ),
    "noise between the events": Sample(
        HAND,
        b": keep-alive\n\n\n\nid: 7\nretry: 100\n"
        + (event({"candidates": [{"index": 0}]}) + chunk({"text": "Hel"}) + event({}) + STOP)
        .replace(b"data: ", b"data:")
        .removesuffix(b"\n"),
    ),
    "CRLF line ends": Sample(HAND, _read("text.sse").replace(b"\n", b"\r\n")),
    "no terminal event": Sample(HAND, chunk({"text": "Hel"})),
    "an empty body": Sample(HAND, b""),
    "the connection breaks in mid-stream": Sample(HAND, chunk({"text": "Hel"}), abrupt=True),
    "the connection breaks inside a call": Sample(HAND, chunk(calling("Paris", "fc-1"))[:-20], abrupt=True),
    "an error inside HTTP 200": Sample(HAND, _read("error_in_stream.sse")),
    "something that is not JSON": Sample(HAND, b"data: <html>\n\n"),
    "rate limited": refused(429, "Quota exceeded for the minute", "RESOURCE_EXHAUSTED", RETRY_INFO),
    "no money left": refused(
        429, "You exceeded your current quota", "RESOURCE_EXHAUSTED", DAY_GONE, RETRY_INFO
    ),
    "wrong key": _recorded_refusal(1),
    "request at fault": refused(400, "Please use a valid role: user, model.", "INVALID_ARGUMENT"),
    "server error": refused(500, "An internal error has occurred.", "INTERNAL"),
    "overloaded": _recorded_refusal(2),
    "an error page in HTML": Sample(HAND, b"<html><h1>502 Bad Gateway</h1></html>", status=502),
}

NOT_APPLICABLE: dict[str, str] = {
    "two calls, their arguments interleaved": "a call's arguments come whole, in one part",
}
"""Case → why this wire cannot have it."""
