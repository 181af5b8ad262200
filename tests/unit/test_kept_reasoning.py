"""Reasoning that must come back around calls, and what else those who speak OpenAI's chat wire do their own way."""

import json
from pathlib import Path
from typing import Any

import pytest

from parley.domain.errors import (
    ProviderOverloaded,
    ProviderQuotaExceeded,
    ProviderRateLimited,
    ProviderRejectedRequest,
    StreamCut,
)
from parley.domain.messages import Message, MessageKind, ToolCall, Usage
from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.wire import openai_chat
from parley.providers.wire.kept_reasoning import KeptReasoning
from parley.providers.wire.openai_errors import decode_error
from parley.turns.read_threads import shown_message
from tests.support.replies import Reply, collect

FIXTURES = Path(__file__).parents[1] / "providers" / "fixtures"
REQUIRED = KeptReasoning("reasoning_content", required=True)
DETAILS = KeptReasoning("reasoning_details")


def read(wire: Any, *lines: str) -> Reply:
    return collect(wire.decode_stream(lines))


def fixture(provider: str, name: str) -> list[str]:
    return (FIXTURES / provider / name).read_text().splitlines()


def error_of(provider: str, place: int) -> Any:
    answer = json.loads((FIXTURES / provider / "errors.json").read_text())["answers"][place]
    return decode_error(answer["status"], answer["headers"], json.dumps(answer["body"]))


def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
    return "data: " + json.dumps({"choices": [{"delta": delta, "finish_reason": finish}]}) + "\n"


def lines(*chunks: str) -> list[str]:
    return [line for text in chunks for line in text.split("\n")]


CALLED = chunk({"tool_calls": [{"index": 0, "id": "w1", "function": {"name": "f", "arguments": "{}"}}]})
ENDED = chunk({}, "tool_calls")


def history(provider: str = "deepseek", model: str = "m", content: str = "", **data: Any) -> Prompt:
    call = ToolCall(tool_call_id="call_1", name="get_weather", provider_call_id="w1")
    return Prompt(
        provider="deepseek",
        model="m",
        messages=(
            PromptMessage(role="user", content="Weather?"),
            PromptMessage(
                role="assistant",
                content=content,
                tool_calls=(call,),
                provider=provider,
                model=model,
                provider_data=data,
            ),
            PromptMessage(role="tool", content="18", tool_call_id="call_1", name="get_weather"),
            PromptMessage(
                role="assistant",
                content="18 degrees.",
                provider=provider,
                model=model,
                provider_data=data,
            ),
            PromptMessage(role="user", content="Thanks"),
        ),
    )


def test_reasoning_is_kept_with_calls_and_dropped_without() -> None:
    thought = (
        chunk({"reasoning_content": "Let "}),
        chunk({"reasoning_content": "me."}),
        chunk({"content": ""}),
    )
    kept = read(REQUIRED, *lines(*thought, CALLED, ENDED))
    assert kept.text == ""
    assert kept.finish is not None
    assert kept.finish.provider_data == {"reasoning_content": "Let me."}
    answered = read(REQUIRED, *fixture("deepseek", "text.sse"))
    assert answered.text == "Hello"
    assert answered.finish is not None
    assert answered.finish.provider_data == {}
    assert answered.finish.usage == Usage(input_tokens=40, output_tokens=9)


def test_reasoning_goes_back_on_messages_with_calls_alone() -> None:
    messages = REQUIRED.encode(history(reasoning_content="Hm."))["messages"]
    assert messages[1]["reasoning_content"] == "Hm."
    assert messages[1]["content"] == ""
    assert "reasoning_content" not in messages[3]


@pytest.mark.parametrize(("provider", "model"), [("openai", "m"), ("deepseek", "another")])
def test_reasoning_of_others_stays_away_and_a_stand_in_is_sent_where_it_is_required(
    provider: str, model: str
) -> None:
    message = REQUIRED.encode(history(provider, model, reasoning_content="Theirs."))["messages"][1]
    assert message["reasoning_content"] == "Calling get_weather."
    assert "reasoning_details" not in DETAILS.encode(history(provider, model))["messages"][1]


def test_openai_itself_gets_no_reasoning_back() -> None:
    asked = history(reasoning_content="Hm.", reasoning_details=[{"type": "reasoning.text"}])
    for message in openai_chat.encode(asked)["messages"]:
        assert not {"reasoning_content", "reasoning_details"} & message.keys()
    reply = read(openai_chat, *lines(chunk({"reasoning_content": "Hm."}), CALLED, ENDED))
    assert reply.finish is not None
    assert reply.finish.provider_data == {}


def test_what_a_provider_wants_back_is_shown_to_nobody() -> None:
    call = ToolCall(
        tool_call_id="call_1",
        name="f",
        provider_call_id="kept-id",
        metadata={"thought_signature": "kept-mark"},
    )
    message = Message(
        id="m",
        kind=MessageKind.ASSISTANT_TOOL_CALL,
        role="assistant",
        timestamp=0.0,
        turn=1,
        tool_calls=(call,),
        metadata={"provider": "deepseek", "provider_data": {"reasoning_content": "kept-thought"}},
    )
    shown = shown_message(message)
    assert "kept-" not in json.dumps(shown)
    assert shown["metadata"] == {"provider": "deepseek"}
    assert shown["tool_calls"] == [{"tool_call_id": "call_1", "name": "f", "arguments": {}}]


def test_details_are_joined_by_their_index_and_go_back() -> None:
    def detail(**fields: Any) -> str:
        return chunk({"reasoning_details": [fields]})

    reply = read(
        DETAILS,
        *lines(
            detail(type="reasoning.text", text="Need ", index=0, format="a"),
            detail(type="reasoning.text", text="weather.", index=0, signature=None),
            detail(type="reasoning.text", signature="c2ln", index=0),
            detail(type="reasoning.encrypted", data="x", id="w1", index=1),
            CALLED,
            ENDED,
        ),
    )
    assert reply.finish is not None
    data = reply.finish.provider_data
    assert data == {
        "reasoning_details": [
            {
                "type": "reasoning.text",
                "text": "Need weather.",
                "index": 0,
                "format": "a",
                "signature": "c2ln",
            },
            {"type": "reasoning.encrypted", "data": "x", "id": "w1", "index": 1},
        ]
    }
    message = DETAILS.encode(history(**data))["messages"][1]
    assert message["reasoning_details"][1]["id"] == message["tool_calls"][0]["id"]


def test_a_gateways_comments_and_late_usage_are_understood() -> None:
    reply = read(DETAILS, *fixture("openrouter", "text.sse"))
    assert reply.text == "Hello"
    assert reply.finish is not None
    assert reply.finish.usage == Usage(input_tokens=50, output_tokens=2)
    called = read(DETAILS, *fixture("openrouter", "tool_call.sse"))
    assert called.arguments == [{"city": "Paris"}]
    with pytest.raises(StreamCut, match="disconnected unexpectedly"):
        read(DETAILS, *fixture("openrouter", "error_in_stream.sse"))


def test_usage_in_a_vendors_own_object_is_found() -> None:
    reply = read(openai_chat, *fixture("groq", "text.sse"))
    assert reply.finish is not None
    assert reply.finish.usage == Usage(input_tokens=50, output_tokens=3)


def test_a_call_that_the_provider_could_not_read_is_asked_for_again() -> None:
    with pytest.raises(StreamCut, match="Failed to call a function"):
        read(openai_chat, *fixture("groq", "tool_use_failed.sse"))
    assert isinstance(error_of("groq", 2), StreamCut)
    assert isinstance(error_of("groq", 1), ProviderOverloaded)


def test_no_money_left_is_no_retry() -> None:
    assert isinstance(error_of("deepseek", 0), ProviderQuotaExceeded)
    assert isinstance(error_of("openrouter", 1), ProviderQuotaExceeded)


def test_a_gateways_moderation_is_no_matter_of_keys() -> None:
    error = error_of("openrouter", 2)
    assert isinstance(error, ProviderRejectedRequest)
    assert "violence" in str(error)


def test_what_a_gateway_passes_on_is_in_the_words() -> None:
    error = error_of("openrouter", 0)
    assert isinstance(error, ProviderRateLimited)
    assert str(error) == "HTTP 429: Provider returned error (OpenAI: ...)"
    assert error.retry_after == 5.0


@pytest.mark.parametrize("piece", [None, 5, "", [], [None], {"text": "x"}])
def test_odd_reasoning_does_no_harm(piece: Any) -> None:
    for wire in (REQUIRED, DETAILS):
        deltas = chunk({wire.field: piece, "content": "a"})
        assert read(wire, *lines(deltas, CALLED, ENDED)).text == "a"
