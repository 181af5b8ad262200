"""A worker takes a task and dies, before it has begun or when it has done everything but say so.

The shipped machine in the embedded interpreter, its clock moved: nothing advances until the worker's time is over (its
lease, or the state's own time limit); then another does the same task, and what is done is done once.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

from on_task.dispatch import module_of
from parley import assets
from parley.domain.agents import AgentFunction, SubagentFunction
from parley.installation import LEASE_SECONDS
from parley.tools.function import agent_function
from parley.tools.registry import FunctionRegistry
from parley.turns import run_tool
from tests.support.soundness import assert_sound, named
from tests.support.systems import Note, System

INACTIVITY = 1_000_000
STEP = 20.0
FIRST = ["ReceiveMessage", "BuildPrompt", "InvokeModel", "OpenSubthread", "AwaitConfirmation"]
DECIDED = ["RunTool", "CloseSubthread", "RecordReply", "ProposeActions", "ContinueAsNew"]
LAST = ["CloseRun", "CompleteConversation"]
FAILED = ["FailCall", "FailTurn"]


def limits() -> dict[str, float]:
    """Seconds after which another worker gets each state's task."""
    machine = assets.definition({f"{name}Arn": name for name in assets.TASK_FUNCTIONS})
    states = machine["States"] | machine["States"]["HandleToolCalls"]["ItemProcessor"]["States"]
    return {
        name: min(state.get("TimeoutSeconds", LEASE_SECONDS), LEASE_SECONDS) for name, state in states.items()
    }


class Died(BaseException):
    """The worker is gone."""


class Death:
    """The first task of a state takes its worker along."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, state: str, when: str) -> None:
        module = importlib.import_module(f"on_task.{module_of(state)}")
        self.came = threading.Event()
        self._handler, self._when = module.handler, when
        monkeypatch.setattr(module, "handler", self._handle)

    def _handle(self, event: dict[str, Any], context: Any) -> Any:
        if self.came.is_set():
            return self._handler(event, context)
        if self._when == "at its end":
            self._handler(event, context)
        self.came.set()
        raise Died


def put_agents(system: System) -> None:
    """One that has a subagent take notes, which a person confirms; "fail" fails its turn."""
    asks = agent_function(Note, requires_user_confirmation=True)
    script = [
        {"when": "note", "tool_calls": [{"name": "note", "arguments": {"text": "milk"}}]},
        {"when": "note", "text": "Noted."},
    ]
    system.agent("helper", functions=[asks], script=script)
    down = AgentFunction(
        name="down", implementation=SubagentFunction(subagent_id="helper", subagent_user_message="note it")
    )
    calls = {"when": "note", "tool_calls": [{"name": "down", "arguments": {}}]}
    system.agent(
        functions=[down],
        script=[
            calls,
            {"when": "note", "text": "It is noted."},
            {"when": "fail", "error": "ProviderUnauthorized"},
        ],
        turns_per_run=1,
        inactivity_seconds=INACTIVITY,
        propose_actions=True,
    )


def go_on(system: System, condition: Callable[[], Any]) -> None:
    """Let time pass, whenever all workers rest, until the condition holds."""

    def holds() -> Any:
        if condition():
            return True
        if at_rest(system):
            system.clock.advance(STEP)
        return False

    system.wait_until(holds)


def come_to_rest(system: System, thread: str, phase: str = "waiting_for_input") -> list[dict[str, Any]]:
    """Until the turn is over and its run, or the next, waits; the events."""

    def rests() -> bool:
        now = system.aggregate(thread)
        return now.turns == 1 and now.run.message_id is None and now.phase == phase and not now.untold

    go_on(system, rests)
    system.wait_until(lambda: at_rest(system))
    return assert_sound(system, thread, phase=phase)


def approve(system: System, thread: str) -> None:
    go_on(system, lambda: any(e.outcome is None for e in system.aggregate(thread).proposals))
    (entry,) = system.aggregate(thread).proposals
    assert system.decide(entry.proposal_id, True)["outcome"] == "applied"


def at_rest(system: System) -> bool:
    """Whether every worker has nothing to do, or is dead."""
    return bool(system.orchestrator.inner._interpreter.at_rest())  # type: ignore[attr-defined]


def nothing_advances(system: System, seconds: float) -> None:
    system.wait_until(lambda: at_rest(system), "the workers rest")
    before = system.counts.n["store.put"]
    for _ in range(3):
        system.clock.advance(seconds / 3)
        system.wait_until(lambda: at_rest(system), "the workers rest")
    assert system.counts.n["store.put"] == before


@pytest.mark.parametrize("when", ["at its start", "at its end"])
@pytest.mark.parametrize("state", [*FIRST, *DECIDED, *LAST])
def test_a_task_whose_worker_dies_is_done_by_another_when_its_time_is_over(
    embedded: System, monkeypatch: pytest.MonkeyPatch, state: str, when: str
) -> None:
    system = embedded
    put_agents(system)
    death = Death(monkeypatch, state, when)
    thread = system.start("note it", "talker")
    if state not in FIRST:
        approve(system, thread)
    if state in LAST:
        system.rest(thread, turns=1)
        system.wait_until(lambda: at_rest(system))
        system.clock.advance(INACTIVITY) if state == "CloseRun" else system.say(thread, "/end")
    system.wait_until(death.came.is_set, f"the worker of {state} is dead")
    answers_itself = state == "ReceiveMessage" and when == "at its end"
    if not answers_itself:  # its token is answered: the machine is beyond it, and does not miss it
        nothing_advances(system, limits()[state] - 1)
    if state in FIRST:
        approve(system, thread)
    phase = "completed" if state == "CompleteConversation" else "waiting_for_input"
    events = come_to_rest(system, thread, phase)
    assert [data["content"] for data in named(events, "UserMessage")] == ["note it"]
    assert [data["content"] for data in named(events, "MessageEnd")] == ["Noted.", "It is noted."]
    assert [entry["ran"] for entry in system.data("notes").values()] == [1]
    assert len(named(events, "ThreadEnd")) == 1
    replies = [m for m in system.messages(thread) if m["kind"] == "ASSISTANT_MESSAGE"]
    assert [reply["content"] for reply in replies] == ["It is noted."]


@pytest.mark.parametrize("acted", [True, False])
def test_an_action_that_cannot_run_again_is_not_said_to_have_done_nothing(
    embedded: System, monkeypatch: pytest.MonkeyPatch, acted: bool
) -> None:
    """Its worker died behind it or before it was looked at; the next one has no such function any more."""
    system = embedded
    put_agents(system)
    thread = system.start("note it", "talker")
    came = threading.Event()
    step = "respond" if acted else "open_call"
    done = getattr(run_tool, step)

    def die(*given: Any) -> Any:
        if came.is_set():
            return done(*given)
        came.set()
        raise Died

    monkeypatch.setattr(run_tool, step, die)
    approve(system, thread)
    system.wait_until(came.is_set, "the worker is dead")
    assert len(system.data("notes")) == acted
    system.change_runtime(functions=FunctionRegistry(system.runtime.store, system.clock, classes=()))
    responses = named(come_to_rest(system, thread), "ToolResponse")
    earlier = " But an earlier try of this call was interrupted, and that one may or may not have acted."
    assert (responses[0]["content"], responses[0]["ok"]) == (
        f"There is no function 'note'.{earlier if acted else ''}",
        False,
    )


@pytest.mark.parametrize("when", ["at its start", "at its end"])
@pytest.mark.parametrize("state", FAILED)
def test_a_failure_whose_worker_dies_is_told_once(
    embedded: System, monkeypatch: pytest.MonkeyPatch, state: str, when: str
) -> None:
    system = embedded
    put_agents(system)
    death = Death(monkeypatch, state, when)
    if state == "FailCall":

        def broken(event: dict[str, Any], context: Any) -> Any:
            raise ZeroDivisionError

        monkeypatch.setattr("on_task.open_subthread.handler", broken)
    thread = system.start("note it" if state == "FailCall" else "fail", "talker")
    system.wait_until(death.came.is_set, f"the worker of {state} is dead")
    nothing_advances(system, limits()[state] - 1)
    events = come_to_rest(system, thread)
    responses = [data["content"] for data in named(events, "ToolResponse")]
    unopened = (
        "down failed: An internal error stopped it (ZeroDivisionError)."  # which did nothing, for certain
    )
    assert responses == [unopened] * (state == "FailCall")
    assert len(named(events, "TurnFailed")) == (state == "FailTurn")
