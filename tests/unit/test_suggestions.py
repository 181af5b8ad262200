"""What to do next: how a model is asked, and what is read out of its answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.agents import Agent, Capabilities
from parley.domain.messages import Message, MessageKind
from parley.prompts.suggestions import ACTION_LIMIT, INSTRUCTION, SCHEMA, read_suggestions, suggestions_prompt

AGENT = Agent(agent_id="helper", name="Helper", provider="openai", model="gpt", settings={"temperature": 0})
ACTION = {"label": "More", "message": "Tell me more"}
TEXT = json.dumps([ACTION])


def labels(text: str) -> list[str]:
    return [action.label for action in read_suggestions(text)]


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        json.dumps({"actions": [ACTION]}),
        json.dumps({"thoughts": [], "suggestions": [ACTION]}),
        f"Here you are:\n```json\n{TEXT}\n```\nAnything else [1]?",
        f"As [1] says, and {{so}} on: {TEXT}",
        f'[{{"label": "More"}}] was wrong, this is right: {TEXT}',
        json.dumps([{"label": " More ", "message": "\nTell me more\n", "icon": "star"}]),
        json.dumps([{"label": "", "message": "x"}, {"message": "x"}, "words", None, ACTION]),
        json.dumps([{"label": "x" * 81, "message": "too long for a button"}, ACTION]),
    ],
)
def test_suggestions_are_found_however_a_model_wraps_them(text: str) -> None:
    assert [action.model_dump() for action in read_suggestions(text)] == [ACTION]


@pytest.mark.parametrize(
    "text",
    ["", "nothing", "[", "{", "[]", "{}", "[1, 2]", '{"actions": {}}', "[" * 5000, '{"a":' * 5000, "null"],
)
def test_an_answer_without_suggestions_is_no_error(text: str) -> None:
    assert read_suggestions(text) == []


def test_no_more_than_four_are_shown() -> None:
    assert labels(json.dumps([ACTION] * 9)) == ["More"] * ACTION_LIMIT


@given(st.text(alphabet='[]{}",:ab \\\n\ud800', max_size=80))
def test_no_answer_of_a_model_breaks_the_reading(text: str) -> None:
    read_suggestions(text)


def said(kind: MessageKind, role: str, content: str) -> Message:
    return Message.model_validate(
        {"id": "m", "kind": kind, "role": role, "content": content, "timestamp": 0.0, "turn": 1}
    )


def test_the_prompt_quotes_what_was_said_and_nothing_that_functions_answered() -> None:
    talk = [
        said(MessageKind.USER_MESSAGE, "user", "Top products?"),
        said(MessageKind.TOOL_RESPONSE, "tool", "secret row"),
        said(MessageKind.ASSISTANT_MESSAGE, "assistant", "Hats."),
    ]
    prompt = suggestions_prompt(AGENT, Capabilities(), talk)
    (question,) = prompt.messages
    assert question.content == f"User: Top products?\nAssistant: Hats.\n\n{INSTRUCTION}"
    assert (prompt.purpose, prompt.tools, prompt.settings) == ("suggestions", (), {"temperature": 0})


def test_a_schema_is_asked_of_providers_that_hold_their_models_to_one() -> None:
    able = Capabilities(supports_structured_output=True)
    assert suggestions_prompt(AGENT, able, []).response_schema == SCHEMA
    assert suggestions_prompt(AGENT, Capabilities(), []).response_schema is None


def test_a_model_that_does_not_converse_is_asked_in_one_text() -> None:
    prompt = suggestions_prompt(AGENT, Capabilities(supports_conversation=False), [])
    assert prompt.text is not None
    assert prompt.text.endswith("Assistant:")
    assert INSTRUCTION in prompt.text
