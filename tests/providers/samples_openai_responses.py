"""OpenAI's Responses wire: the bytes for each case."""

import json
from pathlib import Path
from typing import Any

from parley.domain.messages import ToolCall
from parley.prompts.prompt import PromptMessage
from tests.providers import samples_openai_chat
from tests.providers.cases import Sample

FIXTURES = Path(__file__).parent / "fixtures" / "openai_responses"
HAND = "hand-built"
MODEL = "gpt-5.1"
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAAexample"}
_PARIS = ToolCall(
    tool_call_id="call_1", name="get_weather", arguments={"city": "Paris"}, provider_call_id="call_Paris1"
)
MESSAGES = (
    PromptMessage(role="user", content="Hi, I am Ann."),
    PromptMessage(role="assistant", content="Hi Ann."),
    PromptMessage(role="user", content="What is the weather in Paris?"),
    PromptMessage(
        role="assistant",
        tool_calls=(_PARIS,),
        provider="openai",
        model=MODEL,
        provider_data={"blocks": [{"kept": REASONING}, {"call": True}]},
    ),
    PromptMessage(role="tool", content='{"temp_c":18}', tool_call_id="call_1", name="get_weather"),
)


def event(kind: str, **fields: Any) -> bytes:
    data = json.dumps({"type": kind, "sequence_number": 0, **fields}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()


def said(*parts: str, place: int = 0, **more: Any) -> bytes:
    item = {"id": f"msg_{place}", "type": "message", "role": "assistant", "content": [], **more}
    deltas = [
        event("response.output_text.delta", output_index=place, item_id=item["id"], delta=part)
        for part in parts
    ]
    return b"".join(
        [event("response.output_item.added", output_index=place, item=item), *deltas, done(place, item)]
    )


def done(place: int, item: dict[str, Any]) -> bytes:
    return event("response.output_item.done", output_index=place, item=item)


def begin(place: int, call_id: str, name: str = "get_weather") -> bytes:
    item = {"id": f"fc_{place}", "type": "function_call", "call_id": call_id, "name": name, "arguments": ""}
    return event("response.output_item.added", output_index=place, item=item)


def arguments(place: int, text: str) -> bytes:
    return event(
        "response.function_call_arguments.delta", output_index=place, item_id=f"fc_{place}", delta=text
    )


def end(status: str = "completed", **more: Any) -> bytes:
    response = {"id": "resp_1", "object": "response", "status": status, "output": [], **more}
    return event(f"response.{status}", response=response)


def cut(reason: str) -> bytes:
    return end("incomplete", incomplete_details={"reason": reason})


def _read(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


PARIS = arguments(0, '{"city":') + arguments(0, '"Paris"}')
TEXT = said("Hel", "lo")
SAMPLES = {
    "text": Sample(HAND, _read("text.sse")),
    "text outside ASCII": Sample(HAND, said("Grüße, ", "世界 🎉") + end()),
    "text cut at the token limit": Sample(HAND, said("Hel") + cut("max_output_tokens")),
    "refused by the content filter": Sample(HAND, cut("content_filter")),
    "two calls": Sample(
        HAND,
        begin(0, "call_Paris1") + PARIS + begin(1, "call_Rome2") + arguments(1, '{"city":"Rome"}') + end(),
    ),
    "two calls, their arguments interleaved": Sample(
        HAND,
        begin(0, "call_Paris1")
        + begin(1, "call_Rome2")
        + arguments(1, '{"city":')
        + PARIS
        + arguments(1, '"Rome"}')
        + end(),
    ),
    "a call with empty arguments": Sample(HAND, begin(0, "call_1", "get_time") + arguments(0, "") + end()),
    "text and a call": Sample(
        HAND,
        said("Let me look.") + begin(1, "call_Paris1") + arguments(1, '{"city":"Paris"}') + end(),
    ),
    "noise between the events": Sample(
        HAND,
        b": keep-alive\n\n\n\nid: 7\nretry: 100\n"
        + (event("response.in_progress", response={}) + event("response.something_new") + TEXT + end())
        .replace(b"data: ", b"data:")
        .removesuffix(b"\n"),
    ),
    "CRLF line ends": Sample(HAND, _read("text.sse").replace(b"\n", b"\r\n")),
    "no terminal event": Sample(HAND, said("Hel")),
    "an empty body": Sample(HAND, b""),
    "the connection breaks in mid-stream": Sample(HAND, said("Hel"), abrupt=True),
    "the connection breaks inside a call": Sample(
        HAND, begin(0, "call_Paris1") + arguments(0, '{"ci'), abrupt=True
    ),
    "an error inside HTTP 200": Sample(HAND, _read("failed.sse")),
    "something that is not JSON": Sample(HAND, b"data: <html>\n\n"),
    **{
        case: samples_openai_chat.SAMPLES[case]
        for case in (
            "rate limited",
            "no money left",
            "wrong key",
            "request at fault",
            "server error",
            "overloaded",
            "an error page in HTML",
        )
    },
}

NOT_APPLICABLE: dict[str, str] = {}
"""Case → why this wire cannot have it."""
