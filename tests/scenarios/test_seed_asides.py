"""What the model writes beside the conversation: predefined messages before a turn, suggestions after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from parley.prompts.suggestions import SCHEMA
from parley.providers.registry import ProviderRegistry
from parley.turns.moderation import REFUSAL
from parley.turns.rollout_ports import ModelCall
from tests.support.backends import ONLY_EMBEDDED
from tests.support.soundness import PLAIN, assert_sound, named, story
from tests.support.systems import HELD, System
from tests.support.wire_server import Answer, WireServer, wire_server

ACTIONS = [{"label": "More", "message": "Tell me more"}]
WISH = "Ask what sells best"
TOP = {"id": "top", "title": "Best sellers", "prompt": WISH}


def suggests(**step: Any) -> dict[str, Any]:
    """A step of a script: the suggestions, unless something else is said."""
    return {"purpose": "suggestions", "text": json.dumps({"actions": ACTIONS}), **step}


class Meter:
    """Remembers the calls by what they were for."""

    def __init__(self, system: System) -> None:
        self.calls: list[ModelCall] = []
        system.change_runtime(meter=self)

    def model_call(self, call: ModelCall) -> None:
        self.calls.append(call)

    def of(self, purpose: str) -> list[ModelCall]:
        return [call for call in self.calls if call.purpose == purpose]


def begin_with_predefined(system: System) -> str:
    accepted = system.post(system.of_project("/agents/talker/chat"), {"predefined_message": "top"})
    return str(accepted["thread_id"])


# Suggestions.


def test_suggestions_come_behind_the_reply_and_count_as_calls(system: System) -> None:
    meter = Meter(system)
    system.agent(propose_actions=True, script=[suggests()])
    thread = system.start("hello", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events) == [*PLAIN, "ProposeActions"]
    assert named(events, "ProposeActions") == [{"actions": ACTIONS}]
    assert events[-1]["turn"] == 1
    (call,) = meter.of("suggestions")
    assert call.outcome == "answered"
    assert call.usage is not None
    assert call.usage.output_tokens > 0


def test_the_reply_does_not_wait_for_suggestions(system: System) -> None:
    system.agent(propose_actions=True, script=[suggests(delay=HELD)])
    thread = system.start("hello", "talker")
    system.held()
    assert story(system.events(thread)) == PLAIN
    status = system.status(thread)
    assert (status["phase"], status["turns"]) == ("waiting_for_input", 1)
    assert system.get(system.of_thread(thread, "/replies/1"))["content"]
    assert system.cancel(thread) is False, "there is no turn to cancel"
    system.let_go()
    system.rest(thread, turns=1)
    assert story(assert_sound(system, thread)) == [*PLAIN, "ProposeActions"]


def test_a_message_that_comes_while_suggestions_are_written_is_answered_at_once(system: System) -> None:
    meter = Meter(system)
    system.agent(propose_actions=True, script=[suggests(when="first", delay=HELD), suggests()])
    thread = system.start("first", "talker")
    system.held()
    system.say(thread, "second")
    system.rest(thread, turns=2)  # though the model is still held
    events = assert_sound(system, thread)
    assert story(events) == [*PLAIN, *PLAIN, "ProposeActions"]
    assert events[-1]["turn"] == 2
    assert [call.outcome for call in meter.of("suggestions")] == ["interrupted", "answered"]


@ONLY_EMBEDDED
def test_with_a_message_waiting_already_nothing_is_suggested(system: System) -> None:
    meter = Meter(system)
    system.agent(propose_actions=True, script=[{"when": "first", "text": "One.", "delay": HELD}, suggests()])
    thread = system.start("first", "talker")
    system.held()
    system.say(thread, "second")
    system.let_go()
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread)) == [*PLAIN, *PLAIN, "ProposeActions"]
    assert len(meter.of("suggestions")) == 1


@ONLY_EMBEDDED
@pytest.mark.parametrize(
    "step",
    [
        {"text": "I would not know."},
        {"text": '[{"label": "More"'},
        {"text": "[]"},
        {"cut": True},
        {"error": "ProviderOverloaded"},
        {"error": "ProviderUnauthorized"},
        {"error": "ProviderRejectedRequest"},
        {"error": {"type": "ProviderUnavailable", "after": 1}},
        {"error": {"type": "ProviderRateLimited", "retry_after": 200}},
        {"text": "", "tool_calls": [{"name": "note", "arguments": {}}]},
    ],
)
def test_suggestions_that_fail_are_absent_and_nothing_else(system: System, step: dict[str, Any]) -> None:
    system.agent(propose_actions=True, script=[suggests(when="first", **step), suggests()])
    thread = system.start("first", "talker")
    system.rest(thread, turns=1)
    assert story(assert_sound(system, thread)) == PLAIN
    system.say(thread, "second")
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread)) == [*PLAIN, *PLAIN, "ProposeActions"]


@ONLY_EMBEDDED
def test_a_model_that_takes_too_long_to_suggest_is_given_up(system: System) -> None:
    system.change_settings(aside_seconds=0.1)
    system.agent(propose_actions=True, script=[suggests(delay=HELD)])
    thread = system.start("hello", "talker")
    system.rest(thread, turns=1)
    assert story(assert_sound(system, thread)) == PLAIN


@ONLY_EMBEDDED
def test_nothing_is_suggested_to_a_flagged_message(system: System) -> None:
    meter = Meter(system)
    system.agent(propose_actions=True, moderation={"provider": "scripted"}, script=[suggests()])
    thread = system.start("Something vile [flagged]", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events) == PLAIN
    assert named(events, "MessageEnd")[0]["content"] == REFUSAL
    assert meter.calls == [], "what was flagged reaches no model"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with wire_server() as running:
        yield running


def says(text: str) -> Answer:
    """A reply on OpenAI's chat wire."""
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": text}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    return Answer(tuple(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks))


REFUSED = Answer((b'{"error": {"message": "response_format is not supported by this model"}}',), status=400)


@ONLY_EMBEDDED
@pytest.mark.parametrize(
    ("override", "answers", "schemas"),
    [
        ({}, [says(json.dumps({"actions": ACTIONS}))], [True]),
        ({}, [REFUSED, says(f"Well: {json.dumps(ACTIONS)}")], [True, False]),
        ({"supports_structured_output": False}, [says(json.dumps(ACTIONS))], [False]),
    ],
)
def test_a_schema_goes_along_where_the_model_can_be_held_to_one(
    system: System,
    server: WireServer,
    override: dict[str, Any],
    answers: list[Answer],
    schemas: list[bool],
) -> None:
    settings: Any = SimpleNamespace(get={"OPENAI_BASE_URL": server.url}.get)
    system.change_runtime(providers=ProviderRegistry(settings))
    server.answers.extend([says("Hello"), *answers])
    system.agent(provider="openai", model="gpt", propose_actions=True, capabilities=override)
    thread = system.start("hello", "talker")
    system.rest(thread, turns=1)
    assert named(assert_sound(system, thread), "ProposeActions") == [{"actions": ACTIONS}]
    reply, *asked = [request.body for request in server.received]
    assert "response_format" not in reply
    assert ["response_format" in body for body in asked] == schemas
    for body in asked[:1] if schemas[0] else ():
        assert body["response_format"]["json_schema"]["schema"] == SCHEMA


# Predefined messages.


@ONLY_EMBEDDED
def test_a_predefined_message_is_written_by_the_model_when_its_turn_opens(system: System) -> None:
    meter = Meter(system)
    script = [
        {"purpose": "predefined", "when": "sells best", "text": "What sells best this week?"},
        {"when": "this week", "text": "Hats."},
    ]
    system.agent(predefined_messages=[TOP], script=script)
    thread = begin_with_predefined(system)
    status = system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert status["title"] == "Best sellers"
    assert story(events) == PLAIN
    assert named(events, "UserMessage")[0]["content"] == "What sells best this week?"
    assert named(events, "MessageEnd")[0]["content"] == "Hats."
    assert system.messages(thread)[0]["content"] == "What sells best this week?"
    (call,) = meter.of("predefined")
    assert call.usage is not None
    assert call.usage.output_tokens > 0


@ONLY_EMBEDDED
@pytest.mark.parametrize(
    "step", [{"error": "ProviderOverloaded"}, {"cut": True}, {"text": "  "}, {"delay": HELD, "text": "late"}]
)
def test_a_model_that_cannot_write_it_costs_the_wording_not_the_message(
    system: System, step: dict[str, Any]
) -> None:
    system.change_settings(aside_seconds=0.2)
    system.agent(predefined_messages=[TOP], script=[{"purpose": "predefined", **step}])
    thread = begin_with_predefined(system)
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events) == PLAIN
    assert named(events, "UserMessage")[0]["content"] == WISH


def test_a_turn_is_cancelled_while_its_message_is_still_being_written(system: System) -> None:
    system.agent(
        predefined_messages=[TOP], script=[{"purpose": "predefined", "delay": HELD, "text": "never said"}]
    )
    thread = begin_with_predefined(system)
    system.held()
    assert system.cancel(thread) is True
    system.rest(thread, turns=1)  # though the model is still held
    events = assert_sound(system, thread)
    assert story(events) == ["UserMessage", "ThreadStart", "TurnCancelled"]
    assert named(events, "UserMessage")[0]["content"] == WISH
    system.say(thread, "And now?")
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread))[-5:] == PLAIN


@ONLY_EMBEDDED
def test_what_the_model_writes_for_a_predefined_message_is_moderated_too(system: System) -> None:
    script = [{"purpose": "predefined", "text": "Something vile [flagged]"}]
    system.agent(predefined_messages=[TOP], moderation={"provider": "scripted"}, script=script)
    thread = begin_with_predefined(system)
    system.rest(thread, turns=1)
    assert named(assert_sound(system, thread), "MessageEnd")[0]["content"] == REFUSAL
