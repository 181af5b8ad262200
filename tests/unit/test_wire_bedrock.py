"""Bedrock's wire: what boto3 is asked, whatever the history."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from parley.domain.agents import Agent, AgentFunction, Capabilities, ClassFunction
from parley.domain.messages import Message, ToolCall
from parley.prompts.build import build_prompt
from parley.prompts.prompt import PromptMessage
from parley.providers.wire.bedrock_converse import encode
from tests.support.stored_histories import MODELS, stored_histories
from tests.support.wire_rules_bedrock import check
from tests.unit.bedrock_events import begin, ends, part, prompt, read, stop, user

THINKING = {"type": "enabled", "budget_tokens": 2000}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "EqQB"}}}
LOOK = AgentFunction(name="look", description="Looks.", implementation=ClassFunction(class_name="look"))


def called(*ids: str, content: str = "", **more: Any) -> PromptMessage:
    calls = tuple(ToolCall(tool_call_id=call_id, name="get_weather") for call_id in ids)
    return PromptMessage(role="assistant", content=content, tool_calls=calls, **more)


def result(call_id: str, content: str = "18", **more: Any) -> PromptMessage:
    return PromptMessage(role="tool", content=content, tool_call_id=call_id, name="get_weather", **more)


def sent(*messages: PromptMessage, **changes: Any) -> list[dict[str, Any]]:
    request = encode(prompt(*messages, **changes))
    check(request)
    return request["messages"]


@examples(max_examples=200)
@given(
    history=stored_histories(mostly="bedrock"),
    model=st.sampled_from(MODELS),
    final=st.booleans(),
    overrides=st.sampled_from(
        [{}, *({name: False} for name in Capabilities.model_fields if name.startswith("supports"))]
    ),
    settings=st.sampled_from(
        [
            {},
            *[{"thinking": THINKING}] * 2,
            {"tool_choice": "required", "stop": "END"},
            {"tool_choice": "none"},
        ]
    ),
)
def test_any_stored_history_becomes_a_request_that_is_accepted(
    history: list[Message], model: str, overrides: dict[str, Any], settings: dict[str, Any], *, final: bool
) -> None:
    agent = Agent(
        agent_id="a",
        name="A",
        provider="bedrock",
        model=model,
        settings=settings,
        capabilities=overrides,
        functions=(LOOK,),
    )
    made = build_prompt(agent, Capabilities(), history, final=final)
    request = encode(made)
    check(request)
    assert encode(made) == request


def test_results_share_a_turn_and_text_has_another() -> None:
    messages = sent(user(), called("c1", "c2"), result("c1"), result("c2", "No", ok=False), user("Go"))
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    results = [block["toolResult"] for block in messages[2]["content"]]
    assert [(each["toolUseId"], each["status"]) for each in results] == [("c1", "success"), ("c2", "error")]
    assert messages[4]["content"] == [{"text": "Go"}]


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": ()},
        {"settings": {"tool_choice": "none"}},
        {"capabilities": Capabilities(supports_tool_calls=False)},
    ],
)
def test_where_nothing_may_be_called_earlier_calls_are_text(changes: dict[str, Any]) -> None:
    request = encode(prompt(user(), called("c1"), result("c1"), **changes))
    check(request)
    assert "toolConfig" not in request
    assert "<tool_call" in request["messages"][1]["content"][0]["text"]
    assert "<tool_response" in request["messages"][2]["content"][0]["text"]


def test_settings_have_the_names_that_the_api_gives_them() -> None:
    settings = {
        "max_tokens": 5,
        "temperature": 0.5,
        "top_p": None,
        "stop": ["END", ""],
        "seed": 1,
        "extra_body": {"top_k": 3},
        "thinking": {"type": "adaptive"},
        "guardrail_config": {"guardrailIdentifier": "g", "guardrailVersion": "1"},
    }
    request = encode(prompt(settings=settings))
    check(request)
    assert request["inferenceConfig"] == {"maxTokens": 5, "temperature": 0.5, "stopSequences": ["END"]}
    assert request["additionalModelRequestFields"] == {"top_k": 3, "thinking": {"type": "adaptive"}}
    assert request["guardrailConfig"]["guardrailIdentifier"] == "g"
    assert {*encode(prompt(tools=()))} == {"modelId", "messages"}
    as_text = encode(prompt(tools=(), text="System: …", settings={"stop": "END"}))
    assert as_text["inferenceConfig"]["stopSequences"][:2] == ["END", "\nHuman:"]


@pytest.mark.parametrize(
    ("setting", "choice"),
    [
        ("auto", {"auto": {}}),
        ("required", {"any": {}}),
        ({"any": {}}, {"any": {}}),
        ({"tool": {"name": "f"}}, {"tool": {"name": "f"}}),
        ({"type": "function", "function": {"name": "f"}}, {"tool": {"name": "f"}}),
        (None, None),
    ],
)
def test_a_tool_choice_of_any_form_is_understood(setting: Any, choice: Any) -> None:
    assert encode(prompt(settings={"tool_choice": setting}))["toolConfig"].get("toolChoice") == choice


def test_thoughts_come_back_in_their_places_and_can_be_stored_as_json() -> None:
    reply = read(
        part(0, reasoningContent={"text": "Hm."}),
        part(0, reasoningContent={"signature": "EqQB"}),
        stop(0),
        part(1, text="One."),
        stop(1),
        part(2, reasoningContent={"redactedContent": b"\x00\xff"}),
        stop(2),
        begin(3, toolUseId="t1", name="f"),
        stop(3),
        ends("tool_use"),
    )
    assert reply.finish is not None
    data = json.loads(json.dumps(reply.finish.provider_data))
    message = called("c1", content="One.", provider="bedrock", provider_data=data)
    assistant = sent(user(), message, result("c1"), settings={"thinking": THINKING})[1]["content"]
    redacted = {"reasoningContent": {"redactedContent": b"\x00\xff"}}
    assert assistant[:3] == [THOUGHT, {"text": "One."}, redacted]


def test_what_another_wire_kept_under_the_same_name_is_left_out() -> None:
    data = {"blocks": [{"kept": {"type": "thinking", "thinking": "Hm."}}, {"call": True}]}
    message = called("c1", provider="bedrock", provider_data=data)
    assert [*map(list, sent(user(), message, result("c1"))[1]["content"])] == [["toolUse"]]


def test_thoughts_without_a_signature_are_not_kept() -> None:
    reply = read(part(0, reasoningContent={"text": "Hm."}), stop(0), part(1, text="Hi"), stop(1), ends())
    assert reply.finish is not None
    assert reply.finish.provider_data == {}


def test_thinking_waits_while_calls_are_answered_that_began_without_a_thought() -> None:
    request = encode(prompt(user(), called("c1"), result("c1"), settings={"thinking": THINKING}))
    assert "additionalModelRequestFields" not in request
