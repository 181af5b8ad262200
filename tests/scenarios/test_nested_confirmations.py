"""An action that waits in a subthread, one, two or three deep: every way in which it is decided, and who is told."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from parley.domain import keys
from parley.domain.agents import AgentFunction, SubagentFunction
from parley.domain.proposals import Outcome
from parley.tools.function import agent_function
from parley.turns.calls import EXPIRY_MARGIN, REFUSALS
from parley.turns.ports import ExecutionStatus
from parley.turns.stopping import CANCELLED
from tests.support.backends import ONLY_EMBEDDED
from tests.support.soundness import PLAIN, assert_sound, named, prompts, story
from tests.support.systems import HELD, Note, System

DEEP = pytest.mark.parametrize(
    ("system", "depth"),
    [("embedded", 1), ("embedded", 2), ("embedded", 3), ("aws", 2)],
    indirect=["system"],
)
TWO_DEEP = pytest.mark.parametrize(
    ("system", "depth"), [("embedded", 2), ("embedded", 3), ("aws", 2)], indirect=["system"]
)
SUPERSEDED = REFUSALS[Outcome.SUPERSEDED]


def put_agents(system: System, depth: int, last: list[dict[str, Any]], **root: Any) -> str:
    """Agents that hand "note" on, ``depth`` times, and a last one that does as ``last`` says; the first one's id."""
    asks = agent_function(Note, requires_user_confirmation=True)
    system.agent(f"level-{depth}", functions=[asks], script=last)
    for level in range(depth - 1, -1, -1):
        down = SubagentFunction(subagent_id=f"level-{level + 1}", subagent_user_message="Please {wish}")
        call = {"name": "down", "arguments": {"wish": "note"}}
        script = [{"when": "note", "tool_calls": [call]}, {"when": "note", "text": f"Level {level} is done."}]
        fields = {} if level else root
        function = AgentFunction(name="down", implementation=down)
        system.agent(f"level-{level}", functions=[function], script=script, **fields)
    return "level-0"


ASKS: list[dict[str, Any]] = [
    {"when": "note", "tool_calls": [{"name": "note", "arguments": {"text": "milk"}}]},
    {"when": "note", "text": "The last one is done."},
]


def ask(system: System, depth: int, **root: Any) -> tuple[str, dict[str, Any]]:
    """A thread in which an action waits so deep; it and its proposal."""
    thread = system.start("note it", put_agents(system, depth, ASKS, **root))
    (proposal,) = system.pending(thread)
    assert proposal["thread_id"] != thread
    return thread, proposal


def results(events: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """What each agent's model was told of its call, the last agent's first."""
    return [(data["content"], data["ok"]) for data in named(events, "ToolResponse")]


def nested(thread: str, events: list[dict[str, Any]]) -> list[str]:
    """The names of the executions in which the subagents worked."""
    calls = [data["tool_call_id"] for data in named(events, "AgentSubthreadStart")]
    return [keys.subagent_execution_name(thread, 1, 1, call) for call in calls]


def assert_nothing_runs(system: System, thread: str, events: list[dict[str, Any]]) -> None:
    for name in nested(thread, events):
        system.wait_until(partial(_has_ended, system, name), f"{name} has ended")


def _has_ended(system: System, name: str) -> bool:
    return system.orchestrator.status(name) is not ExecutionStatus.RUNNING


@DEEP
def test_an_approved_action_runs_and_every_level_is_told(system: System, depth: int) -> None:
    thread, proposal = ask(system, depth)
    listed = system.get(system.of_project("/confirmations"))["confirmations"]
    assert [entry["proposal_id"] for entry in listed] == [proposal["proposal_id"]]
    assert system.decide(proposal, True, arguments={"text": "bread"})["outcome"] == "applied"
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    levels = [f"Level {level} is done." for level in range(depth - 1, 0, -1)]
    expected = ["Noted: bread", "The last one is done.", *levels]
    assert results(events) == [(words, True) for words in expected]
    assert [entry["ran"] for entry in system.data("notes").values()] == [1]
    assert_nothing_runs(system, thread, events)


@DEEP
def test_a_new_message_declines_it_and_the_subagent_and_every_agent_above_are_told_so(
    system: System, depth: int
) -> None:
    thread, proposal = ask(system, depth)
    system.say(thread, "Show me the weather")
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    rejected = [event for event in events if event["event"] == "ActionRejected"]
    assert [(event["subthread_id"], event["data"]["automaticRejection"]) for event in rejected] == [
        (proposal["thread_id"], True)
    ]
    inner, *outer = results(events)
    assert inner == (SUPERSEDED, False)
    assert len(outer) == depth
    for content, _ in outer:
        assert content.endswith(SUPERSEDED)
        assert content.count(SUPERSEDED) == 1
    heard = [message.content for prompt in prompts(system, thread) for message in prompt.messages]
    assert sum(content.endswith(SUPERSEDED) for content in heard) >= depth + 1
    assert story(events)[-len(PLAIN) :] == PLAIN
    assert system.decide(proposal, True) == {"outcome": "superseded", "decision": "superseded"}
    assert system.data("notes") == {}


@TWO_DEEP
def test_an_agent_may_let_a_message_wait_for_a_decision_far_below(system: System, depth: int) -> None:
    thread, proposal = ask(system, depth, on_message_while_pending="queue")
    system.say(thread, "And then?")
    assert system.pending(thread) == [proposal]
    assert system.status(thread)["queued"] == 1
    system.decide(proposal, False, reason="No milk.")
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    assert results(events)[0] == ("User declined this action. Reason: No milk.", False)
    assert story(events)[-len(PLAIN) :] == PLAIN


@ONLY_EMBEDDED
@pytest.mark.parametrize("depth", [2, 3])
def test_an_agent_may_refuse_messages_while_something_waits_far_below(system: System, depth: int) -> None:
    thread, proposal = ask(system, depth, on_message_while_pending="reject")
    answer = system.request("POST", system.of_thread(thread), body={"message": "And then?"})
    assert (answer.status, answer.error) == (409, "confirmation_pending")
    assert answer.body["error"]["proposal_ids"] == [proposal["proposal_id"]]
    assert "decide it before you write again" in answer.body["error"]["message"]
    system.decide(proposal, True)
    system.rest(thread, turns=1)
    assert_sound(system, thread)


@pytest.mark.parametrize("depth", [2, 3])
def test_what_nobody_decides_far_below_expires(embedded: System, depth: int) -> None:
    thread, proposal = ask(embedded, depth)
    embedded.clock.advance(86_400 + EXPIRY_MARGIN)
    embedded.rest(thread, turns=1)
    events = assert_sound(embedded, thread)
    assert [data["reason"] for data in named(events, "ActionRejected")] == ["expired"]
    assert results(events)[0] == (REFUSALS[Outcome.EXPIRED], False)
    assert embedded.decide(proposal, True) == {"outcome": "expired", "decision": "expired"}


@TWO_DEEP
def test_cancelling_answers_what_waits_far_below_and_ends_every_nested_execution(
    system: System, depth: int
) -> None:
    thread, proposal = ask(system, depth)
    assert system.cancel(thread) is True
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events)[-1] == "TurnCancelled"
    assert [data["reason"] for data in named(events, "ActionRejected")] == ["cancelled"]
    assert results(events)[0] == (REFUSALS[Outcome.CANCELLED], False)
    assert [content for content, _ in results(events)[1:]] == [CANCELLED.perhaps] * depth
    assert system.decide(proposal, True) == {"outcome": "cancelled", "decision": "cancelled"}
    for subthread in (None, *(data["subthread_id"] for data in named(events, "AgentSubthreadStart"))):
        assert system.messages(thread, subthread)[-1]["kind"] == "TURN_CANCELLED"
    assert_nothing_runs(system, thread, events)


@TWO_DEEP
def test_cancelling_stops_a_stream_far_below_within_a_moment(system: System, depth: int) -> None:
    talks = [{"when": "note", "text": "This takes very long.", "chunk_delay": HELD}]
    thread = system.start("note it", put_agents(system, depth, talks))
    system.held()
    system.say(thread, "Hello")
    assert system.cancel(thread) is True
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    assert story(events)[-len(PLAIN) - 1 :] == ["TurnCancelled", *PLAIN]
    assert results(events) == [(CANCELLED.perhaps, False)] * depth
    assert_nothing_runs(system, thread, events)
