"""Providers that fail, and turns that are cancelled: the thread stays usable."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import on_task.fail_turn
from on_schedule import repair
from parley.domain import keys
from parley.domain.agents import AgentFunction, SubagentFunction
from parley.domain.conversation import WATCHDOG_SECONDS, WATCHDOG_STEP
from parley.tools.function import agent_function
from parley.turns.calls import REFUSALS
from parley.turns.invoke_model import RETRY_PAUSE
from parley.turns.stopping import CANCELLED
from tests.support.soundness import CALL, PLAIN, REPLY, assert_sound, named, story
from tests.support.systems import HELD, Note, System

CHUNKS = "StreamMessageChunk…"
RETRIED = ["UserMessage", "ThreadStart", CHUNKS, "MessageReset", CHUNKS, "MessageEnd", "ThreadEnd"]


def error(name: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"type": name, **fields}}


@pytest.mark.parametrize(
    ("system", "name"),
    [
        ("embedded", "ProviderOverloaded"),
        ("embedded", "ProviderTimeout"),
        ("embedded", "StreamCut"),
        ("aws", "StreamCut"),
    ],
    indirect=["system"],
)
def test_a_stream_that_breaks_off_begins_again_and_the_client_is_told_to_drop_the_part(
    system: System, name: str
) -> None:
    system.agent(script=[{"text": "At last it works.", **error(name, after=2, times=1)}])
    thread = system.start("Hello", "talker")
    system.rest(thread, turns=1, moving=0.5)
    events = assert_sound(system, thread)
    assert story(events) == RETRIED
    (reset,) = named(events, "MessageReset")
    (end,) = named(events, "MessageEnd")
    assert reset == {"message_id": end["message_id"], "attempt": 2}
    assert end["content"] == "At last it works."
    assert {data["attempt"] for data in named(events, "StreamMessageChunk")} == {1, 2}


@pytest.mark.parametrize(
    ("system", "retry_after"), [("embedded", 5.0), ("embedded", 40.0), ("aws", 40.0)], indirect=["system"]
)
def test_a_provider_that_asks_for_time_gets_it(system: System, retry_after: float) -> None:
    system.agent(script=[{"text": "Now.", **error("ProviderRateLimited", retry_after=retry_after, times=1)}])
    thread = system.start("Hello", "talker")
    before = system.clock.now()
    system.rest(thread, turns=1, moving=2.0)
    assert story(assert_sound(system, thread)) == PLAIN
    states = [visit.name for visit in system.orchestrator.history(f"{thread}-1-1")]
    assert states.count("WaitForProvider") == (retry_after > 10)
    if system.backend == "embedded" or retry_after <= 10:
        assert system.clock.now() - before >= retry_after


def test_a_failure_that_no_retry_cures_ends_the_turn_with_plain_words(system: System) -> None:
    name = "ProviderUnauthorized"
    system.agent(script=[{"when": "fail", **error(name, message="no such key"), "text": "x"}])
    thread = system.start("fail", "talker")
    system.say(thread, "Hello again")
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    assert story(events) == ["UserMessage", "ThreadStart", "TurnFailed", *PLAIN]
    (failed,) = named(events, "TurnFailed")
    assert failed == {"type": name, "message": "scripted: no such key", "retryable": False}
    kinds = [message["kind"] for message in system.messages(thread)]
    assert kinds == ["USER_MESSAGE", "TURN_FAILED", "USER_MESSAGE", "ASSISTANT_MESSAGE"]
    assert system.status(thread)["last_reply_ref"] == f"{thread}/2"
    assert system.request("GET", system.of_thread(thread, "/replies/1")).status == 404


def test_a_turn_whose_agent_can_be_read_no_more_fails_and_says_so(embedded: System) -> None:
    system = embedded
    script = [
        {"when": "held", "delay": HELD, "tool_calls": [{"name": "note", "arguments": {"text": "milk"}}]}
    ]
    agent_id = system.agent(functions=[agent_function(Note)], script=script)
    thread = system.start("held", agent_id)
    system.held()
    partition, sort = keys.project_partition(system.project), keys.agent(agent_id)
    kept = system.store.get(partition, sort)
    assert kept is not None
    system.store.put(replace(kept, body='{"agent_id": "talker"}'), if_version=kept.version)
    system.let_go()
    system.rest(thread, turns=1)
    (failed,) = named(assert_sound(system, thread), "TurnFailed")
    assert failed["type"] == "Conflict"
    assert failed["message"].startswith(
        "The agent talker cannot be read: name: is missing; provider: is missing;"
    )
    system.store.put(kept, if_version=None)
    system.say(thread, "Hello")
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread))[-len(PLAIN) :] == PLAIN


def test_a_provider_that_stays_away_is_tried_five_times(embedded: System) -> None:
    system = embedded
    system.agent(script=[{"when": "fail", **error("ProviderUnavailable"), "text": "x"}])
    thread = system.start("fail", "talker")
    system.rest(thread, turns=1, moving=5.0)
    events = assert_sound(system, thread)
    assert story(events) == ["UserMessage", "ThreadStart", "TurnFailed"]
    (asked,) = [v for v in system.orchestrator.history(f"{thread}-1-1") if v.name == "InvokeModel"]
    assert asked.retries == 4
    assert named(events, "TurnFailed")[0]["retryable"] is True


def test_a_turn_that_fails_after_its_calls_leaves_a_history_that_goes_on(embedded: System) -> None:
    system = embedded
    script = [
        {"tool_calls": [{"name": "note", "arguments": {"text": "milk"}}]},
        {**error("ProviderQuotaExceeded"), "text": "x"},
    ]
    system.agent(functions=[agent_function(Note)], script=script)
    thread = system.start("note it", "talker")
    system.rest(thread, turns=1)
    system.say(thread, "Hello")
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    assert story(events) == ["UserMessage", "ThreadStart", *CALL, "ToolResponse", "TurnFailed", *PLAIN]


def test_cancelling_stops_the_stream_and_the_next_message_is_answered(system: System) -> None:
    script = [{"when": "long", "text": "This takes long.", "chunk_delay": HELD}]
    system.agent(script=script)
    thread = system.start("a long story", "talker")
    system.held()
    system.say(thread, "Hello")
    assert system.cancel(thread) is True
    assert system.cancel(thread) is True
    system.rest(thread, turns=2)
    assert system.cancel(thread) is False
    events = assert_sound(system, thread)
    assert story(events) == ["UserMessage", "ThreadStart", CHUNKS, "TurnCancelled", *PLAIN]
    assert named(events, "TurnCancelled") == [{"turn": 1}]
    assert system.status(thread)["turns"] == 2
    run = system.get(system.of_thread(thread, "/runs/1"))
    assert [(asked["cancelled"], asked["failure"]) for asked in run["asked"]] == [(True, None), (False, None)]


@pytest.mark.parametrize(
    ("system", "agent", "retry_after"),
    [
        ("embedded", "talker", 200.0),
        ("embedded", "boss", 200.0),
        ("embedded", "talker", 5.0),
        ("embedded", "talker", None),
        ("aws", "talker", 300.0),
    ],
    indirect=["system"],
)
def test_cancelling_does_not_wait_for_the_provider(
    system: System, agent: str, retry_after: float | None
) -> None:
    """Which asked for patience, for long (a subagent's, too) or for a little, or refused and is tried again soon."""
    refused = error("ProviderRateLimited", times=1, retry_after=retry_after)
    system.agent(script=[{"when": "work", "text": "Now.", **refused}])
    helps = AgentFunction(name="help", implementation=SubagentFunction(subagent_id="talker"))
    asks = {"when": "work", "tool_calls": [{"name": "help", "arguments": {"user_request": "work"}}]}
    system.agent("boss", functions=[helps], script=[asks])
    thread = system.start("work", agent)
    system.wait_until(lambda: system.aggregate(thread).run.paused_until, "the provider was asked")
    if retry_after == 5.0:
        system.held()
    assert system.cancel(thread) is True
    system.rest(thread, turns=1)
    assert (system.aggregate(thread).run.attempt, system.aggregate(thread).run.deaths) == (2, 0)
    events = assert_sound(system, thread)
    assert story(events)[-1] == "TurnCancelled"

    if system.backend == "embedded":
        system.clock.advance(retry_after or RETRY_PAUSE)
        system.wait_until(
            lambda: system.orchestrator.status(f"{thread}-1-1") == "SUCCEEDED", "it has given up"
        )
        assert system.orchestrator.history(f"{thread}-1-1")[-1].name == "StaleRun"
    system.say(thread, "Hello")
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread)) == [*story(events), *PLAIN]


def test_cancelling_answers_the_action_that_waits(system: System) -> None:
    asks = agent_function(Note, requires_user_confirmation=True)
    script = [{"when": "note", "tool_calls": [{"name": "note", "arguments": {"text": "milk"}}]}]
    system.agent(functions=[asks], script=script)
    thread = system.start("note it", "talker")
    (proposal,) = system.pending(thread)
    assert system.cancel(thread) is True
    assert system.decide(proposal, True) == {"outcome": "cancelled", "decision": "cancelled"}
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    asked = ["UserMessage", "ThreadStart", *CALL, "ActionRequiresConfirmation"]
    refused = ["ActionRejected", "ThreadStart (resumed)", "ToolResponse"]
    assert story(events) == [*asked, *refused, "TurnCancelled"]
    assert named(events, "ActionRejected")[0]["reason"] == "cancelled"
    assert named(events, "ActionRejected")[0]["automaticRejection"] is True
    assert named(events, "ToolResponse")[0]["content"] == REFUSALS["cancelled"]  # type: ignore[index]
    assert system.data("notes") == {}
    system.say(thread, "Hello")
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread))[-5:] == PLAIN


def test_cancelling_the_parent_stops_its_subagent(system: System) -> None:
    system.agent("helper", script=[{"text": "I am still at it.", "delay": HELD}])
    helps = AgentFunction(name="help", implementation=SubagentFunction(subagent_id="helper"))
    script = [{"tool_calls": [{"name": "help", "arguments": {"user_request": "work"}}]}]
    system.agent(functions=[helps], script=script)
    thread = system.start("ask", "talker")
    system.held()
    assert system.cancel(thread) is True
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events)[-3:] == ["sub:TurnCancelled", "ToolResponse", "TurnCancelled"]
    (answered,) = named(events, "ToolResponse")
    assert (answered["ok"], answered["content"]) == (False, CANCELLED.perhaps)
    assert answered["additional_data"] == {"stopped": "Stopped. It may have acted before."}
    system.say(thread, "Hello")
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread))[-len(REPLY) :] == REPLY


def test_a_run_that_dies_even_of_failing_its_turn_is_not_started_at_once_for_ever(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After three dead attempts the turn is failed; if that dies too, the next try waits for repair's due time."""
    system.agent(script=[{"when": "fail", **error("ProviderUnauthorized"), "text": "x"}])
    broken = True
    fail_turn = on_task.fail_turn.handler

    def fail(event: dict[str, Any], context: Any) -> dict[str, Any]:
        if broken:
            raise ZeroDivisionError
        return fail_turn(event, context)

    def died(attempt: int) -> bool:
        return system.orchestrator.status(f"{thread}-1-{attempt}") == "FAILED"

    def look_at(attempt: int) -> None:
        """What EventBridge's event does on AWS, and the interpreter's on a laptop."""
        repair.handler({"detail": {"name": f"{thread}-1-{attempt}"}}, None)

    monkeypatch.setattr(on_task.fail_turn, "handler", fail)
    thread = system.start("fail", "talker")
    for attempt in (1, 2, 3, 4):
        system.wait_until(partial(died, attempt), f"attempt {attempt} has died")
        if system.backend == "aws":
            look_at(attempt)
    look_at(4)
    assert system.aggregate(thread).run.attempt == 4

    broken = False
    repair.handler({}, None)
    assert system.aggregate(thread).run.attempt == 4
    system.clock.advance(WATCHDOG_SECONDS + WATCHDOG_STEP)
    repair.handler({}, None)
    assert system.aggregate(thread).run.attempt == 5
    system.rest(thread, turns=1)
    assert story(assert_sound(system, thread))[-1] == "TurnFailed"
    system.say(thread, "Hello")
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread))[-3:] == REPLY
