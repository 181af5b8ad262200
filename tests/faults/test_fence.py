"""A worker that was presumed dead and comes back after another has done its work can change nothing.

Each state of the machine has a task that stalls before each of its store calls; the next try, or the next attempt at
the whole run, does the state's work; then the stalled one goes on, and the store is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from parley.domain import keys
from parley.domain.agents import AgentFunction
from parley.domain.conversation import SIGNAL_GRACE_SECONDS
from parley.domain.errors import ProviderUnauthorized
from parley.prompts.prompt import Prompt
from parley.turns.function_ports import FunctionCall, FunctionOutcome, RemoteCall
from parley.turns.model_ports import Delta, Finish, TextDelta
from parley.turns.ports import ExecutionStatus
from parley.turns.repair import repair_due, repair_execution
from tests.faults.world import INACTIVITY, World
from tests.support.branches import Branch
from tests.support.faulty import Fault, OutsideSystem, TalkingProvider
from tests.support.memory_store import MemoryStore

MOST_CALLS = 30
"""No task of these makes so many store calls."""
RETRY = 35.0
"""Seconds in which every retry begins."""


class Suggesting(TalkingProvider):
    """Also writes suggestions."""

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        if any("Suggest up to" in text for text in (prompt.system, *(m.content for m in prompt.messages))):
            yield TextDelta('{"actions": [{"label": "More", "message": "talk more"}]}')
            yield Finish("stop")
        else:
            yield from super().stream(prompt)


class Refusing(TalkingProvider):
    """Answers nothing that begins with "fail"."""

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        if prompt.messages[-1].content.startswith("fail"):
            raise ProviderUnauthorized("no such key")
        yield from super().stream(prompt)


class Crashing(OutsideSystem):
    """Functions whose worker fails in a way that nobody foresaw."""

    def call(self, call: FunctionCall | RemoteCall) -> FunctionOutcome:
        raise ZeroDivisionError

    def fault(self, function: AgentFunction, arguments: dict[str, Any]) -> str | None:
        return None


def talking(world: World) -> None:
    world.begin()
    world.work()
    world.write("talk again")


def acting(word: str) -> Callable[[World], None]:
    def prepare(world: World) -> None:
        world.begin()
        world.work()
        world.write(f"{word} now")

    return prepare


def suggesting(world: World) -> None:
    world.runtime.providers.provider = Suggesting()  # type: ignore[attr-defined]
    world.begin(propose_actions=True)


def failing(world: World) -> None:
    world.runtime.providers.provider = Refusing()  # type: ignore[attr-defined]
    world.begin()
    world.work()
    world.write("fail")


def crashing(world: World) -> None:
    world.outside.call = Crashing().call  # type: ignore[method-assign]
    acting("act")(world)


def handing_over(world: World) -> None:
    world.begin(turns=1)


def idle(world: World) -> None:
    world.begin()
    world.work()
    world.time_passes(INACTIVITY + 1)


def ending(world: World) -> None:
    world.begin()
    world.work()
    world.write("/end")


STATES: dict[str, Callable[[World], None]] = {
    "ReceiveMessage": lambda world: world.begin(),
    "BuildPrompt": talking,
    "InvokeModel": talking,
    "RecordReply": talking,
    "RunTool": acting("act"),
    "AwaitConfirmation": acting("act"),
    "OpenSubthread": acting("ask"),
    "CloseSubthread": acting("ask"),
    "FailCall": crashing,
    "FailTurn": failing,
    "ProposeActions": suggesting,
    "ContinueAsNew": handing_over,
    "CloseRun": idle,
    "CompleteConversation": ending,
}


def prepared(state: str) -> tuple[World, Branch]:
    """A world in which the state is about to be entered, and the branch that will. People approve what waits."""
    world = World()
    STATES[state](world)
    for _ in range(200):
        for signal in world.take_signals():
            world.orchestrator.deliver(signal)
        ready = world.stepper.ready()
        if found := [branch for branch in ready if branch.state == state]:
            return world, found[0]
        if ready:
            world.stepper.step(ready[0])
        for entry in () if ready else world.conversation().proposals:
            world.decide(entry.proposal_id, approved=True)
    raise AssertionError(f"{state} was not reached")


def kept(world: World) -> dict[Any, Any]:
    """All that is stored. Calls count against a bound, and may count twice."""
    assert isinstance(world.store.inner, MemoryStore)
    found = {where: json.loads(item.body) for where, item in world.store.inner.items.items()}
    for (_, sort), body in found.items():
        if sort == "CONVERSATION":
            body["run"]["calls"] = 0
    return found


def the_next_try_does_it(world: World, branch: Branch) -> None:
    world.time_passes(RETRY)
    world.stepper.step(branch)


def the_next_attempt_does_it(world: World, branch: Branch) -> None:
    root = world.conversation()
    name = keys.execution_name(root.thread_id, root.run.generation, root.run.attempt)
    for dead in {name, branch.execution.name} & set(world.stepper.executions):
        world.stepper.kill(dead, ExecutionStatus.FAILED)
        repair_execution(world.runtime, dead)
    world.time_passes(SIGNAL_GRACE_SECONDS + 1)
    repair_due(world.runtime)
    world.work()


def the_thread_comes_to_rest(world: World, branch: Branch) -> None:
    world.time_passes(RETRY)
    world.come_to_rest(zombies=False)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    "meanwhile", [the_next_try_does_it, the_next_attempt_does_it, the_thread_comes_to_rest]
)
def test_a_worker_that_comes_back_too_late_changes_nothing(
    state: str, meanwhile: Callable[[World, Branch], None]
) -> None:
    for call in range(1, MOST_CALLS):
        world, branch = prepared(state)
        world.fault = Fault("stalls", call, behind=False)
        world.stepper.step(branch)
        if not world.zombies:
            assert call > 1
            world.fault = None
            world.close()
            return
        meanwhile(world, branch)
        before = kept(world)
        if state == "ProposeActions" and meanwhile is the_next_attempt_does_it:
            world.close()  # the next attempt suggests nothing, and suggestions that come late are still good
            continue
        world.zombies.pop().go_on()
        assert kept(world) == before, f"stalled before store call {call}"
        world.close()
    raise AssertionError("it never ends")
