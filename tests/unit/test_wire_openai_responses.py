"""OpenAI's Responses wire: what is encoded, what comes back to it, and its odd streams."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.agents import Capabilities
from parley.domain.errors import (
    ProviderError,
    ProviderQuotaExceeded,
    ProviderRateLimited,
    ProviderRejectedRequest,
    StreamCut,
)
from parley.domain.messages import ToolCall
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.wire.openai_responses import decode_error, decode_stream, encode
from tests.support.replies import Reply, collect
from tests.support.wire_rules_openai_responses import check

FIXTURES = Path(__file__).parents[1] / "providers" / "fixtures" / "openai_responses"
TOOL = ToolSpec(name="get_weather")
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
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


def event(kind: str, **fields: Any) -> str:
    return "data: " + json.dumps({"type": kind, **fields})


def end(status: str = "completed", **more: Any) -> str:
    return event(f"response.{status}", response={"status": status, "output": [], **more})


def added(place: int, kind: str, **item: Any) -> str:
    return event("response.output_item.added", output_index=place, item={"type": kind, **item})


def done(place: int, **item: Any) -> str:
    return event("response.output_item.done", output_index=place, item=item)


def text(place: int, delta: str) -> str:
    return event("response.output_text.delta", output_index=place, delta=delta)


def read(*lines: str) -> Reply:
    return collect(decode_stream(each for line in lines for each in (line, "")))


def read_fixture(name: str) -> Reply:
    return collect(decode_stream((FIXTURES / name).read_text().split("\n")))


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


def test_reasoning_and_call_are_read() -> None:
    reply = read_fixture("reasoning_and_call.sse")
    assert reply.calls == [["get_weather", "call_Paris1", '{"city":"Paris"}']]
    assert reply.finish is not None
    assert reply.finish.reason == "tool_calls"
    kept = {**REASONING, "encrypted_content": "gAAAAAexample"}
    assert reply.finish.provider_data == {"blocks": [{"kept": kept}, {"call": True}]}
    assert reply.finish.usage is not None
    assert (reply.finish.usage.input_tokens, reply.finish.usage.output_tokens) == (60, 30)


def test_reasoning_that_is_not_encrypted_is_of_no_use_later() -> None:
    reply = read(done(0, type="reasoning", id="rs_1", summary=[]), text(1, "Hi"), end())
    assert reply.finish is not None
    assert reply.finish.provider_data == {}


def test_a_reply_cut_at_the_limit_says_so() -> None:
    reply = read_fixture("incomplete.sse")
    assert (reply.text, reply.finish and reply.finish.reason) == ("", "length")


def test_a_refusal_is_text_and_ends_as_one() -> None:
    reply = read(event("response.refusal.delta", output_index=0, delta="I can't."), end())
    assert (reply.text, reply.finish and reply.finish.reason) == ("I can't.", "content_filter")


@pytest.mark.parametrize(
    ("name", "error_class"), [("failed.sse", StreamCut), ("error_event.sse", ProviderRateLimited)]
)
def test_a_failure_in_the_stream_is_an_error(name: str, error_class: type[ProviderError]) -> None:
    with pytest.raises(error_class):
        read_fixture(name)


@pytest.mark.parametrize(
    ("error", "error_class"),
    [
        ({"code": "insufficient_quota", "message": "pay"}, ProviderQuotaExceeded),
        ({"code": "invalid_prompt", "message": "no"}, ProviderRejectedRequest),
        ({"code": "server_error", "message": "oh"}, StreamCut),
        (None, StreamCut),
    ],
)
def test_what_failed_decides_whether_to_try_again(error: Any, error_class: type[ProviderError]) -> None:
    for line in (end("failed", error=error), event("error", error=error), event("error", **(error or {}))):
        with pytest.raises(error_class):
            read(text(0, "Hi"), line)


def test_items_that_were_not_streamed_come_with_their_end() -> None:
    reply = read(
        done(0, type="message", content=[{"type": "output_text", "text": "Hi"}]),
        done(1, type="function_call", name="f", call_id="c", arguments='{"a":1}'),
        end(),
    )
    assert (reply.text, reply.arguments) == ("Hi", [{"a": 1}])


def test_a_server_that_does_not_stream_is_understood() -> None:
    output = [
        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"},
    ]
    whole = {"object": "response", "status": "completed", "output": output, "error": None}
    reply = collect(decode_stream(json.dumps(whole, indent=1).split("\n")))
    assert (reply.text, reply.names) == ("Hi", ["f"])
    with pytest.raises(StreamCut, match="no capacity"):
        collect(decode_stream(['{"error": {"message": "no capacity"}}']))
    with pytest.raises(StreamCut):
        collect(decode_stream([json.dumps({**whole, "status": "in_progress"})]))


def test_the_kind_of_an_event_may_stand_on_its_own_line() -> None:
    lines = ["event: response.output_text.delta", 'data: {"delta": "Hi"}', "", end(), ""]
    assert collect(decode_stream(lines)).text == "Hi"


_names = st.sampled_from(
    [
        "type",
        "item",
        "delta",
        "output_index",
        "response",
        "status",
        "output",
        "name",
        "call_id",
        "arguments",
        "content",
        "text",
        "phase",
        "encrypted_content",
        "incomplete_details",
        "reason",
        "usage",
        "input_tokens",
        "error",
        "code",
        "message",
    ]
)
_kinds = st.sampled_from(
    [
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "error",
        "message",
        "function_call",
        "reasoning",
        "completed",
    ]
)
_odd = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.sampled_from(["", "a", "{}"]) | _kinds,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(st.tuples(_kinds, st.dictionaries(_names, _odd, max_size=5)), max_size=5))
def test_any_json_in_a_stream_is_a_reply_or_a_provider_error(
    events: list[tuple[str, dict[str, Any]]],
) -> None:
    try:
        reply = read(*("data: " + json.dumps(fields | {"type": kind}) for kind, fields in events))
    except ProviderError:
        return
    assert reply.finish is not None
