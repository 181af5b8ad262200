"""OpenAI's Responses wire: what is encoded, and what comes back to it."""

from typing import Any

import pytest

from parley.domain.agents import Capabilities
from parley.domain.errors import (
    ProviderRejectedRequest,
)
from parley.domain.messages import ToolCall
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.wire.openai_responses import decode_error, encode
from tests.support.wire_rules_openai_responses import check
from tests.unit.responses_events import REASONING, done, end, event, read, text

TOOL = ToolSpec(name="get_weather")
HI = PromptMessage(role="user", content="Hi")


def prompt(*messages: PromptMessage, **changes: Any) -> Prompt:
    values: dict[str, Any] = {
        "provider": "openai",
        "model": "m",
        "system": "Be brief.",
        "messages": messages or (HI,),
    }
    return Prompt(**(values | changes))


def body_of(prompt: Prompt) -> dict[str, Any]:
    body = encode(prompt)
    check(body)
    return body


def replied(content: str = "", *calls: ToolCall, **more: Any) -> PromptMessage:
    made = {"provider": "openai", "model": "m", **more}
    return PromptMessage(role="assistant", content=content, tool_calls=calls, **made)


def call(number: int, **more: Any) -> ToolCall:
    return ToolCall(tool_call_id=f"call_{number}", name="f", **more)


def result(number: int) -> PromptMessage:
    return PromptMessage(role="tool", content="done", tool_call_id=f"call_{number}", name="f")


def added(place: int, kind: str, **item: Any) -> str:
    return event("response.output_item.added", output_index=place, item={"type": kind, **item})


def test_nothing_is_kept_there_and_reasoning_is_asked_for() -> None:
    body = body_of(prompt())
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert body["instructions"] == "Be brief."
    assert "previous_response_id" not in body


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("gpt-5.1", True),
        ("o4-mini", True),
        ("local/model", True),
        ("gpt-4.1-mini", False),
        ("ft:gpt-4o-mini:me", False),
        ("gpt-5-chat-latest", False),
    ],
)
def test_models_that_do_not_reason_are_not_asked_for_reasoning(model: str, asked: bool) -> None:
    assert ("include" in body_of(prompt(model=model))) is asked
    chosen = prompt(model=model, settings={"include": ["message.output_text.logprobs"]})
    assert body_of(chosen)["include"] == ["message.output_text.logprobs"]


def test_any_other_can_be_asked_for_none_and_the_error_says_how() -> None:
    assert body_of(prompt(settings={"include": []}))["include"] == []
    body = '{"error": {"message": "Encrypted content is not supported with this model."}}'
    refused = decode_error(400, {}, body)
    assert isinstance(refused, ProviderRejectedRequest)
    assert '"include": []' in refused.message


def test_settings_of_the_chat_api_are_sent_where_they_live_here() -> None:
    settings = {
        "max_tokens": 9,
        "temperature": 0,
        "top_p": None,
        "reasoning_effort": "low",
        "verbosity": "high",
        "stop": ["END"],
        "seed": 1,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
    }
    body = body_of(prompt(settings=settings))
    assert body["max_output_tokens"] == 9
    assert body["temperature"] == 0
    assert body["reasoning"] == {"effort": "low"}
    assert body["text"] == {
        "verbosity": "high",
        "format": {"type": "json_schema", "name": "x", "schema": {}},
    }
    assert not {"stop", "seed", "max_tokens", "top_p", "response_format"} & {*body}


def test_its_own_settings_win_and_extra_fields_are_merged_in() -> None:
    settings = {"reasoning": {"summary": "auto"}, "reasoning_effort": "low", "extra_body": {"metadata": {}}}
    body = encode(prompt(settings=settings))
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert body["metadata"] == {}


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", "auto"),
        ("any", "required"),
        ({"type": "function", "function": {"name": "f"}}, {"type": "function", "name": "f"}),
    ],
)
def test_the_choice_of_tools_is_flat(choice: Any, sent: Any) -> None:
    settings = {"tool_choice": choice, "parallel_tool_calls": False}
    body = body_of(prompt(tools=(TOOL,), settings=settings))
    assert body["tool_choice"] == sent
    assert body["parallel_tool_calls"] is False
    without = body_of(prompt(settings=settings))
    assert not {"tool_choice", "parallel_tool_calls", "tools"} & {*without}


def test_without_system_messages_the_input_begins_with_the_instructions() -> None:
    body = body_of(prompt(capabilities=Capabilities(supports_system_messages=False)))
    assert "instructions" not in body
    assert [item["content"] for item in body["input"]] == ["Be brief.", "Hi"]


def test_a_model_that_does_not_converse_gets_one_text() -> None:
    body = body_of(prompt(text="System: …"))
    assert body["input"] == [{"role": "user", "content": "System: …"}]
    assert "instructions" not in body


def test_a_reply_goes_back_as_it_came() -> None:
    reply = read(
        done(0, **REASONING),
        added(1, "message", phase="commentary"),
        text(1, "Let me look."),
        done(2, **REASONING, status="completed"),
        added(3, "function_call", name="f", call_id="call_a"),
        event("response.function_call_arguments.delta", output_index=3, delta="{}"),
        end(),
    )
    assert reply.finish is not None
    stored = replied(reply.text, call(1, provider_call_id="call_a"), provider_data=reply.finish.provider_data)
    assert body_of(prompt(HI, stored, result(1)))["input"][1:] == [
        REASONING,
        {"role": "assistant", "content": "Let me look.", "phase": "commentary"},
        REASONING,
        {"type": "function_call", "call_id": "call_a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_a", "output": "done"},
    ]


@pytest.mark.parametrize("maker", [{"provider": "google"}, {"model": "another"}])
def test_reasoning_of_another_model_is_not_sent(maker: dict[str, str]) -> None:
    data = {"blocks": [{"kept": REASONING}, {"text": 5}]}
    items = body_of(prompt(HI, replied("Hello", provider_data=data, **maker), HI))["input"]
    assert items[1] == {"role": "assistant", "content": "Hello"}


def test_reasoning_that_nothing_follows_is_not_sent() -> None:
    data = {"blocks": [{"text": 5}, {"kept": REASONING}]}
    items = body_of(prompt(HI, replied("Hello", provider_data=data), HI))["input"]
    assert [item.get("type") for item in items] == [None, None, None]


def test_ids_that_the_wire_refuses_are_replaced_in_call_and_result() -> None:
    twice = call(1, provider_call_id="call_a")
    odd = call(2, provider_call_id="functions.f:0")
    again = call(3, provider_call_id="call_a")
    messages = (HI, replied("", twice, odd), result(1), result(2), replied("", again), result(3))
    items = body_of(prompt(*messages))["input"]
    assert [item["call_id"] for item in items if "call_id" in item] == [
        "call_a",
        "call_2",
        "call_a",
        "call_2",
        "call_3",
        "call_3",
    ]


def test_two_messages_of_one_reply_are_set_apart() -> None:
    reply = read(
        added(0, "message"), text(0, "One."), added(1, "message"), text(1, "T"), text(1, "wo."), end()
    )
    assert reply.text == "One.\n\nTwo."
    assert reply.finish is not None
    assert reply.finish.provider_data == {}
