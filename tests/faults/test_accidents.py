"""Accidents that have a name: each was once a way to lose something."""

from __future__ import annotations

from typing import Any

import pytest

from parley.domain.conversation import DEAD_ATTEMPTS, SIGNAL_GRACE_SECONDS, Conversation, RunStatus
from parley.domain.proposals import Outcome
from parley.turns import conversations
from parley.turns.ports import ExecutionStatus
from parley.turns.repair import repair_due, repair_execution
from parley.turns.stopping import PERHAPS_RAN
from tests.faults.world import World
from tests.support.faulty import Died, Fault

HOUR = 3_600.0


def stalls(world: World, state: str, call: int) -> None:
    """The next task of that state stalls before its ``call``-th store call, and is given up."""
    reach(world, state)
    branch = next(branch for branch in world.stepper.ready() if branch.state == state)
    world.fault = Fault("stalls", call, behind=False)
    world.stepper.step(branch)
    assert world.zombies
    world.time_passes(10.0)


def reach(world: World, state: str) -> None:
    """Work until a branch is about to enter the state."""
    for _ in range(60):
        if any(branch.state == state for branch in world.stepper.ready()):
            return
        world.step()
    raise AssertionError(f"{state} was not reached")


def acts(world: World) -> None:
    """Work until the function that needs nobody's approval is called, once more."""
    before = noted(world)
    for _ in range(60):
        if noted(world) > before:
            return
        world.step()
    raise AssertionError("the function was not called")


def noted(world: World) -> int:
    return sum(times for (name, _), times in world.outside.done.items() if name == "note")


def goes_on(world: World) -> None:
    world.zombies.pop().go_on()


def names(world: World) -> list[str]:
    return [event["event"] for event in world.events()]


def overwrite(world: World, conversation: Conversation) -> None:
    """Save an aggregate as a stalled task left it."""
    stored = conversations.find(world.runtime, world.thread_id)
    assert stored is not None
    conversations.save(world.runtime, conversation, if_version=stored.version)


def an_execution_dies(world: World) -> None:
    """The one that runs; repair is told."""
    [name] = [e.name for e in world.stepper.executions.values() if e.status is ExecutionStatus.RUNNING]
    world.stepper.kill(name)
    repair_execution(world.runtime, name)


def a_quarter_of_an_hour_passes(world: World) -> None:
    """And a little more; repair passes by every minute."""
    for _ in range(18):
        world.time_passes(60.0)
        repair_due(world.runtime)
        world.work()


@pytest.mark.parametrize("state", ["BuildPrompt", "InvokeModel", "RecordReply"])
@pytest.mark.parametrize("call", range(1, 7))
def test_a_stalled_task_that_goes_on_in_a_later_turn_changes_nothing(
    world: World, state: str, call: int
) -> None:
    stalls(world, state, call)
    world.write("talk again")
    while world.conversation().turn != 2:
        world.step()
    before = world.conversation()
    goes_on(world)
    after = world.conversation()
    assert (after.turn, after.run.message_id) == (before.turn, before.run.message_id)
    assert after.turns == 1


def test_a_message_for_a_run_whose_token_was_overwritten_is_answered_within_a_quarter_of_an_hour(
    world: World,
) -> None:
    world.work()
    parked = world.conversation()
    assert parked.run.status is RunStatus.PARKED
    overwrite(world, parked.but(run=parked.run.but(token="of a task that was given up")))
    world.write("talk again")
    a_quarter_of_an_hour_passes(world)
    assert world.conversation().turns == 2
    assert world.conversation().run.attempt == 2


def test_a_decision_whose_token_was_overwritten_is_obeyed_within_a_quarter_of_an_hour(
    world: World,
) -> None:
    world.work()
    world.write("act")
    world.work()
    waiting = world.conversation()
    assert len(waiting.proposals) == 2
    dead = tuple(entry.but(token="of a task that was given up") for entry in waiting.proposals)
    overwrite(world, waiting.but(proposals=dead))
    for entry in waiting.proposals:
        world.decide(entry.proposal_id, approved=True)
    a_quarter_of_an_hour_passes(world)
    assert world.conversation().turns == 2
    assert sum(times for (name, _), times in world.outside.done.items() if name == "refund") == 2


def test_a_message_on_which_every_execution_dies_fails_its_turn_and_the_thread_goes_on(
    world: World,
) -> None:
    for _ in range(DEAD_ATTEMPTS):
        reach(world, "InvokeModel")
        an_execution_dies(world)
    world.work()
    assert world.conversation().turns == 1
    assert "TurnFailed" in names(world)
    world.write("talk again")
    world.work()
    assert world.conversation().turns == 2
    assert names(world)[-1] == "ThreadEnd"


@pytest.mark.parametrize("end", ["cancelled", "failed", "given up"])
def test_no_end_of_an_interrupted_call_says_that_nothing_was_done(
    world: World, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """The function acted, and its response was never recorded."""

    def break_down(*_: Any) -> Any:
        raise ZeroDivisionError if end == "failed" else Died

    world.work()
    world.write("act")
    for _ in range(DEAD_ATTEMPTS if end == "given up" else 1):
        with monkeypatch.context() as broken:
            broken.setattr("parley.turns.run_tool.respond", break_down)
            acts(world)
        if end == "given up":
            an_execution_dies(world)
    if end == "cancelled":
        world.cancel()
        world.time_passes(60.0)
    world.work()
    [note] = [
        each for each in world.events() if each["event"] == "ToolResponse" and each["data"]["name"] == "note"
    ]
    assert PERHAPS_RAN in note["data"]["content"]
    assert note["data"]["additional_data"].get("stopped", "may have acted").count("may have acted")
    failed = [event["data"]["message"] for event in world.events() if event["event"] == "TurnFailed"]
    assert [words.endswith("look before you ask for it again.") for words in failed] == [True] * (
        end == "given up"
    )


def test_deaths_of_an_idle_run_do_not_fail_the_next_message(world: World) -> None:
    world.work()
    for _ in range(DEAD_ATTEMPTS + 1):
        an_execution_dies(world)
        world.work()
    world.write("talk again")
    world.time_passes(SIGNAL_GRACE_SECONDS + 60.0)
    repair_due(world.runtime)  # it died too often to be started at once
    world.work()
    assert "TurnFailed" not in names(world)
    assert world.conversation().turns == 2


def test_an_approval_in_the_instant_in_which_the_turn_fails_is_not_applied(world: World) -> None:
    world.work()
    world.write("act")
    world.work()
    [first, _] = world.conversation().proposals
    for _ in range(DEAD_ATTEMPTS):
        an_execution_dies(world)
        world.step()
    reach(world, "FailTurn")
    world.stepper.step(next(branch for branch in world.stepper.ready() if branch.state == "FailTurn"))
    world.decide(first.proposal_id, approved=True)
    assert world.decisions[first.proposal_id] is Outcome.CANCELLED
    assert not [name for name, _ in world.outside.done if name == "refund"]


def test_the_log_goes_on_behind_events_that_have_expired(world: World) -> None:
    world.work()
    world.time_passes(2 * HOUR + 100.0)
    world.work()
    closed = world.conversation()
    assert closed.run.status is RunStatus.CLOSED
    assert closed.last_seq == len(names(world))
