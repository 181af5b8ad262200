"""Anthropic's wire: what is encoded, whatever the history, and the odd streams."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from parley.domain.agents import Agent, AgentFunction, Capabilities, ClassFunction
from parley.domain.errors import (
    ProviderError,
    ProviderOverloaded,
    ProviderQuotaExceeded,
    ProviderRateLimited,
    ProviderRejectedRequest,
    ProviderUnauthorized,
    StreamCut,
)
from parley.domain.messages import Message, ToolCall, Usage
from parley.prompts.build import build_prompt
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.wire.anthropic import decode_error, decode_stream, encode
from tests.support.replies import Reply, collect
from tests.support.stored_histories import MODELS, stored_histories
from tests.support.wire_rules_anthropic import check

FIXTURES = Path(__file__).parents[1] / "providers" / "fixtures" / "anthropic"
TOOL = ToolSpec(name="get_weather")
THINKING = {"type": "enabled", "budget_tokens": 2000}
THOUGHT = {"type": "thinking", "thinking": "Need weather.", "signature": "EqQBexample"}
LOOK = AgentFunction(name="look", description="Looks.", implementation=ClassFunction(class_name="look"))


def user(text: str = "Hi") -> PromptMessage:
    return PromptMessage(role="user", content=text)


def called(*ids: str, content: str = "", **more: Any) -> PromptMessage:
    calls = tuple(ToolCall(tool_call_id=call_id, name="get_weather") for call_id in ids)
    return PromptMessage(role="assistant", content=content, tool_calls=calls, **more)


def result(call_id: str, content: str = "18", **more: Any) -> PromptMessage:
    return PromptMessage(role="tool", content=content, tool_call_id=call_id, **more)


def prompt(*messages: PromptMessage, **changes: Any) -> Prompt:
    values = {"provider": "anthropic", "model": "m", "messages": messages or (user(),)}
    return Prompt(**(values | changes))


def sent(*messages: PromptMessage, **changes: Any) -> list[dict[str, Any]]:
    body = encode(prompt(*messages, **changes))
    check(body)
    return body["messages"]


def read(*events: dict[str, Any]) -> Reply:
    return collect(decode_stream(line for event in events for line in (f"data: {json.dumps(event)}", "")))


def block(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {**fields, "type": kind}}


def part(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ends(reason: str = "end_turn", **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


@examples(max_examples=200)
@given(
    history=stored_histories(mostly="anthropic"),
    model=st.sampled_from(MODELS),
    final=st.booleans(),
    overrides=st.sampled_from(
        [{}, *({name: False} for name in Capabilities.model_fields if name.startswith("supports"))]
    ),
    settings=st.sampled_from(
        [
            {},
            *[{"thinking": THINKING}] * 2,
            {"tool_choice": "required", "parallel_tool_calls": False, "stop": "END"},
        ]
    ),
)
def test_any_stored_history_becomes_a_request_that_is_accepted(
    history: list[Message], model: str, overrides: dict[str, Any], settings: dict[str, Any], *, final: bool
) -> None:
    agent = Agent(
        agent_id="a",
        name="A",
        provider="anthropic",
        model=model,
        settings=settings,
        capabilities=overrides,
        functions=(LOOK,),
    )
    made = build_prompt(agent, Capabilities(), history, final=final)
    body = encode(made)
    check(body)
    assert encode(made) == body


def test_all_results_come_right_behind_their_calls_and_before_any_text() -> None:
    messages = sent(
        user(),
        called("c1", "c2", content="Let me look."),
        result("c1"),
        result("c2", "No such city", ok=False),
        user("Never mind"),
    )
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "18"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "No such city", "is_error": True},
        {"type": "text", "text": "Never mind"},
    ]


def test_thoughts_come_back_unchanged_and_in_their_places() -> None:
    reply = collect(decode_stream((FIXTURES / "thought_and_call.sse").read_text().split("\n")))
    assert reply.finish is not None
    message = called("c1", content=reply.text, provider="anthropic", provider_data=reply.finish.provider_data)
    content = sent(user(), message, result("c1"), settings={"thinking": THINKING})[1]["content"]
    assert content[0] == THOUGHT
    assert [each["type"] for each in content] == ["thinking", "text", "tool_use"]


def test_thoughts_between_text_and_calls_keep_their_order() -> None:
    redacted = {"type": "redacted_thinking", "data": "xyz"}
    reply = read(
        block(0, "text"),
        part(0, "text_delta", text="One."),
        stop(0),
        block(1, "redacted_thinking", data="xyz"),
        stop(1),
        block(2, "tool_use", id="t1", name="f"),
        stop(2),
        block(3, "thinking", thinking="Need weather.", signature="EqQBexample"),
        stop(3),
        block(4, "tool_use", id="t2", name="f"),
        stop(4),
        ends("tool_use"),
    )
    assert reply.finish is not None
    data = json.loads(json.dumps(reply.finish.provider_data))
    message = called("c1", "c2", content="One.", provider="anthropic", provider_data=data)
    content = sent(user(), message, result("c1"), result("c2"))[1]["content"]
    assert [each["type"] for each in content] == [
        "text",
        "redacted_thinking",
        "tool_use",
        "thinking",
        "tool_use",
    ]
    assert (content[1], content[3]) == (redacted, THOUGHT)


@pytest.mark.parametrize("origin", [{"provider": "openai"}, {"provider": "anthropic", "model": "other"}])
def test_thoughts_of_another_model_are_left_out_and_thinking_waits_for_the_next_turn(
    origin: dict[str, str],
) -> None:
    message = called("c1", provider_data={"blocks": [{"kept": THOUGHT}, {"call": True}]}, **origin)
    body = encode(prompt(user(), message, result("c1"), settings={"thinking": THINKING}))
    assert [each["type"] for each in body["messages"][1]["content"]] == ["tool_use"]
    assert "thinking" not in body
    afterwards = prompt(
        user(), message, result("c1"), PromptMessage(role="assistant", content="18"), user("And now?")
    )
    assert encode(afterwards.but(settings={"thinking": THINKING}))["thinking"] == THINKING


def test_a_thought_that_fits_no_longer_comes_first_and_one_at_the_end_is_dropped() -> None:
    data = {"blocks": [{"text": 3}, {"kept": THOUGHT}, {"call": True}, {"call": True}]}
    message = called("c1", content="Hm.", provider="anthropic", provider_data=data)
    kinds = [each["type"] for each in sent(user(), message, result("c1"))[1]["content"]]
    assert kinds == ["thinking", "text", "tool_use"]
    cut = {"blocks": [{"text": 3}, {"kept": THOUGHT}]}
    ended = PromptMessage(role="assistant", content="Hm.", provider="anthropic", provider_data=cut)
    assert sent(user(), ended, user("And?"))[1]["content"] == "Hm."


def test_what_another_wire_kept_under_the_same_name_is_left_out() -> None:
    data = {"blocks": [{"kept": {"reasoningContent": {}}}, {"kept": {"type": "reasoning"}}, {"call": True}]}
    message = called("c1", provider="anthropic", provider_data=data)
    kinds = [each["type"] for each in sent(user(), message, result("c1"))[1]["content"]]
    assert kinds == ["tool_use"]


def test_there_is_always_a_limit_and_a_thinking_budget_comes_on_top() -> None:
    assert encode(prompt())["max_tokens"] == 8192
    assert encode(prompt(settings={"max_tokens": 5}))["max_tokens"] == 5
    assert encode(prompt(settings={"max_completion_tokens": 6}))["max_tokens"] == 6
    assert encode(prompt(settings={"thinking": THINKING}))["max_tokens"] == 10_192


def test_settings_are_sent_only_if_they_are_set_and_known() -> None:
    body = encode(
        prompt(settings={"temperature": 1.0, "top_k": None, "metadata": {"user_id": "u"}, "seed": 1})
    )
    assert {*body} == {"model", "max_tokens", "messages", "stream", "metadata"}
    assert encode(prompt(settings={"extra_body": {"temperature": 1.0}}))["temperature"] == 1.0


def test_stop_words_of_any_form_are_stop_sequences_and_blank_ones_are_not() -> None:
    assert encode(prompt(settings={"stop": "END"}))["stop_sequences"] == ["END"]
    assert encode(prompt(settings={"stop_sequences": ["\n", "X"]}))["stop_sequences"] == ["X"]
    assert "stop_sequences" not in encode(prompt(settings={"stop": "\n"}))
    assert "\nHuman:" in encode(prompt(text="System: …"))["stop_sequences"]


@pytest.mark.parametrize(
    ("settings", "choice"),
    [
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": {"type": "tool", "name": "f"}}, {"type": "tool", "name": "f"}),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, {"type": "tool", "name": "f"}),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        ({"tool_choice": "none", "parallel_tool_calls": False}, {"type": "none"}),
        ({"tool_choice": 7}, None),
    ],
)
def test_a_tool_choice_of_any_form_is_understood(settings: dict[str, Any], choice: Any) -> None:
    assert encode(prompt(settings=settings, tools=(TOOL,))).get("tool_choice") == choice
    assert "tool_choice" not in encode(prompt(settings=settings))


def test_a_history_with_calls_has_tools_though_none_may_be_called() -> None:
    body = encode(prompt(user(), called("c1"), result("c1")))
    check(body)
    assert body["tools"] == [{"name": "get_weather", "input_schema": {"type": "object", "properties": {}}}]
    assert body["tool_choice"] == {"type": "none"}


def test_instructions_are_top_level_or_begin_the_conversation() -> None:
    assert encode(prompt(system="Be brief."))["system"] == "Be brief."
    unable = prompt(system="Be brief.", capabilities=Capabilities(supports_system_messages=False))
    assert encode(unable)["messages"][0]["content"][0] == {"type": "text", "text": "Be brief."}
    assert "system" not in encode(unable)
    assert encode(prompt(text="System: …", system="x"))["messages"] == [
        {"role": "user", "content": "System: …"}
    ]


def test_counts_are_cumulative_and_cached_input_is_input() -> None:
    start = {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 1}},
    }
    reply = read(start, ends(output_tokens=61))
    assert reply.finish is not None
    assert reply.finish.usage == Usage(input_tokens=110, output_tokens=61)


@pytest.mark.parametrize(
    ("reason", "with_call", "told"),
    [
        ("end_turn", False, "stop"),
        ("stop_sequence", False, "stop"),
        ("tool_use", True, "tool_calls"),
        ("end_turn", True, "tool_calls"),
        ("tool_use", False, "stop"),
        ("max_tokens", True, "length"),
        ("model_context_window_exceeded", False, "length"),
        ("pause_turn", False, "length"),
        ("refusal", False, "content_filter"),
        ("something_new", False, "stop"),
    ],
)
def test_the_reason_to_end_fits_what_came(reason: str, with_call: bool, told: str) -> None:
    calls = [block(0, "tool_use", id="t", name="f"), stop(0)] if with_call else []
    reply = read(*calls, ends(reason))
    assert reply.finish is not None
    assert reply.finish.reason == told


def test_arguments_that_come_with_the_start_are_taken_once() -> None:
    whole = block(0, "tool_use", id="t", name="f", input={"a": 1})
    assert read(whole, stop(0), ends("tool_use")).arguments == [{"a": 1}]
    both = read(whole, part(0, "input_json_delta", partial_json='{"a":1}'), stop(0), ends("tool_use"))
    assert both.arguments == [{"a": 1}]


def test_calls_that_the_provider_answers_itself_are_none_of_ours() -> None:
    theirs = block(0, "server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"})
    found = part(0, "input_json_delta", partial_json='{"query":"x"}')
    reply = read(theirs, found, stop(0), block(1, "text", text="Found."), stop(1), ends())
    assert (reply.text, reply.calls) == ("Found.", [])


def test_a_connection_that_breaks_behind_the_end_loses_nothing() -> None:
    def lines() -> Iterator[str]:
        for event in (block(0, "text", text="a"), stop(0), ends()):
            yield from (f"data: {json.dumps(event)}", "")
        raise StreamCut("the connection failed")

    assert collect(decode_stream(lines())).text == "a"


def test_an_end_without_a_reason_is_none() -> None:
    with pytest.raises(StreamCut):
        read(block(0, "text", text="a"), stop(0), {"type": "message_stop"})


def test_a_reply_that_was_not_streamed_is_understood() -> None:
    content = [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]
    whole = {"type": "message", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 3}}
    reply = collect(decode_stream(json.dumps(whole, indent=1).splitlines()))
    assert (reply.text, reply.arguments) == ("Hi", [{"a": 1}])


@pytest.mark.parametrize(
    ("kind", "error_class"),
    [
        ("overloaded_error", ProviderOverloaded),
        ("rate_limit_error", ProviderRateLimited),
        ("invalid_request_error", ProviderRejectedRequest),
        ("not_found_error", ProviderRejectedRequest),
        ("authentication_error", ProviderUnauthorized),
        ("billing_error", ProviderQuotaExceeded),
        ("api_error", StreamCut),
        ("timeout_error", StreamCut),
    ],
)
def test_an_error_after_http_200_is_the_error_that_it_names(
    kind: str, error_class: type[ProviderError]
) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "Oh no"}, "request_id": "req_1"}
    with pytest.raises(error_class, match="Oh no") as raised:
        collect(decode_stream(["event: error", f"data: {json.dumps(error)}", ""]))
    assert type(raised.value) is error_class
    with pytest.raises(error_class):
        collect(decode_stream([json.dumps(error)]))


@pytest.mark.parametrize("body", ["", "null", "[1]", "<html>", '{"error": null}', '{"error": "x"}'])
def test_any_error_body_can_be_read(body: str) -> None:
    assert isinstance(decode_error(400, {}, body), ProviderRejectedRequest)


_names = st.sampled_from(
    ["type", "index", "content_block", "delta", "message", "usage", "error", "text", "id", "name", "input"]
)
_kinds = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "message",
        "error",
        "text",
        "tool_use",
        "thinking",
        "text_delta",
        "input_json_delta",
        "signature_delta",
    ]
)
_odd = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | _kinds,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(st.tuples(_kinds, st.dictionaries(_names, _odd, max_size=5)), max_size=6))
def test_any_json_in_a_stream_is_a_reply_or_a_provider_error(drawn: list[tuple[str, dict[str, Any]]]) -> None:
    try:
        reply = read(*({**event, "type": kind} for kind, event in drawn), ends())
    except ProviderError:
        return
    assert reply.finish is not None
    json.dumps(reply.finish.provider_data)
