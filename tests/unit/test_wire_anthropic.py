"""Anthropic's wire: what is encoded, whatever the history."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from parley.domain.agents import Agent, AgentFunction, Capabilities, ClassFunction
from parley.domain.messages import Message, ToolCall
from parley.prompts.build import build_prompt
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.wire.anthropic import decode_stream, encode
from tests.support.replies import collect
from tests.support.stored_histories import MODELS, stored_histories
from tests.support.wire_rules_anthropic import check
from tests.unit.anthropic_events import block, ends, part, read, stop

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
