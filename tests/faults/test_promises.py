"""What is promised while things go wrong: what clients hear, when a run is told to be over, when a cancel works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from parley.domain.conversation import SIGNAL_GRACE_SECONDS, RunStatus
from parley.domain.errors import ProviderUnauthorized
from parley.prompts.prompt import Prompt
from parley.turns.decide import pending_proposals
from parley.turns.model_ports import Delta, Finish, TextDelta
from parley.turns.read_runs import list_runs
from parley.turns.repair import repair_due
from tests.faults.test_accidents import goes_on, names, overwrite, reach, stalls
from tests.faults.test_fence import kept
from tests.faults.truth import check_log
from tests.faults.world import INACTIVITY, World
from tests.support.faulty import Fault, TalkingProvider


class Numbered(TalkingProvider):
    """Says something else each time."""

    times = 0

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        self.times += 1
        for piece in ("answer ", str(self.times), f" to {prompt.messages[-1].content}"):
            yield TextDelta(piece)
        yield Finish("stop")


def pieces(world: World) -> str:
    """What a client that follows the events has before it of the last message."""
    text = ""
    for event in world.events():
        if event["event"] == "MessageReset":
            text = ""
        elif event["event"] == "StreamMessageChunk":
            text += event["data"]["text"]
    return text


@pytest.mark.parametrize("first", range(4, 9))
@pytest.mark.parametrize("second", range(8, 16))
def test_of_two_tries_of_one_model_call_clients_end_with_what_was_recorded(first: int, second: int) -> None:
    """The first stalls somewhere, the second as well; then the first goes on, and then the second."""
    world = World()
    world.begin()
    world.runtime.providers.provider = Numbered()  # type: ignore[attr-defined]
    stalls(world, "InvokeModel", first)
    world.time_passes(700.0)
    branch = next(branch for branch in world.stepper.ready() if branch.state == "InvokeModel")
    world.fault = Fault("stalls", second, behind=False)
    world.stepper.step(branch)
    world.fault = None
    while world.zombies:
        world.zombies.pop(0).go_on()
    world.time_passes(700.0)
    world.work()
    (ended,) = [event["data"]["content"] for event in world.events() if event["event"] == "MessageEnd"]
    assert pieces(world) == ended
    check_log(world.store.inner, world.conversation())
    world.resources.close()


@pytest.mark.parametrize("call", range(1, 7))
@pytest.mark.parametrize("how", ["cancelled", "failed"])
def test_a_model_call_that_goes_on_behind_the_end_of_a_stopped_turn_adds_nothing(call: int, how: str) -> None:
    world = World()
    world.begin()
    stalls(world, "InvokeModel", call)
    if how == "cancelled":
        world.cancel()
    else:
        world.runtime.providers.provider = Refusing()  # type: ignore[attr-defined]
    world.time_passes(700.0)
    world.work()
    end = {"cancelled": "TurnCancelled", "failed": "TurnFailed"}[how]
    assert names(world)[-1] == end
    before = kept(world)
    goes_on(world)
    assert kept(world) == before
    world.write("talk again")
    world.work()
    world.close()


class Refusing(TalkingProvider):
    """Answers nothing of what was said first."""

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        if prompt.messages[-1].content == "talk 0":
            raise ProviderUnauthorized("no such key")
        yield from super().stream(prompt)


def test_a_retry_of_a_model_call_that_had_said_nothing_voids_nothing(world: World) -> None:
    stalls(world, "InvokeModel", 3)
    world.time_passes(700.0)
    world.work()
    assert "MessageReset" not in names(world)


def test_a_cancelled_turn_that_hangs_is_ended_by_repair_within_a_minute_and_a_half(world: World) -> None:
    world.work()
    world.write("act")
    world.work()
    stuck = world.conversation()
    world.cancel()
    world.orchestrator.sent.clear()  # and nobody hears of it
    decided = world.conversation()
    taken = tuple(entry.but(token=None) for entry in decided.proposals)
    overwrite(world, decided.but(proposals=taken))
    for _ in range(2):
        world.time_passes(45.0)
        repair_due(world.runtime)
        world.work()
    assert names(world)[-1] == "TurnCancelled"
    assert world.conversation().turns == 2
    assert (stuck.run.attempt, world.conversation().run.attempt) == (1, 2)
    assert world.conversation().run.deaths == 0


def test_the_end_of_a_run_is_told_though_its_worker_died_behind_the_save(world: World) -> None:
    world.work()
    world.time_passes(INACTIVITY + 1)
    reach(world, "CloseRun")
    branch = next(branch for branch in world.stepper.ready() if branch.state == "CloseRun")
    world.fault = Fault("dies", 2, behind=True)  # its read, its save
    world.stepper.step(branch)
    world.stepper.kill(branch.execution.name)
    closed = world.conversation()
    assert closed.run.status is RunStatus.CLOSED
    assert [over.status for over in closed.untold] == ["inactive"]
    assert "RunEnded" not in names(world)
    assert [run["status"] for run in runs(world)] == ["inactive"]
    world.write("talk again")
    world.work()
    assert names(world)[5:8] == ["RunEnded", "UserMessage", "ThreadStart"]
    assert [run["status"] for run in runs(world)] == ["inactive", "waiting"]


def test_the_end_of_a_run_is_told_by_repair_if_nobody_writes(world: World) -> None:
    world.work()
    world.time_passes(INACTIVITY + 1)
    reach(world, "CloseRun")
    branch = next(branch for branch in world.stepper.ready() if branch.state == "CloseRun")
    world.fault = Fault("dies", 2, behind=True)
    world.stepper.step(branch)
    world.stepper.kill(branch.execution.name)
    world.time_passes(SIGNAL_GRACE_SECONDS)
    repair_due(world.runtime)
    assert names(world)[-1] == "RunEnded"
    assert world.conversation().untold == ()


def runs(world: World) -> list[dict[str, Any]]:
    return list(list_runs(world.runtime, "ann", "shop", world.thread_id)["runs"])


def test_an_action_that_is_listed_a_moment_before_it_is_registered_can_be_approved() -> None:
    world = recorded_and_not_registered()
    proposal = pending_proposals(world.runtime, "ann", "shop")[0]
    world.decide(proposal.proposal_id, approved=True)
    assert proposal.proposal_id in world.applied
    goes_on(world)
    world.work()
    assert world.outside.done["refund", proposal.proposal_id] == 1
    world.close()


def recorded_and_not_registered() -> World:
    """A reply's proposals are recorded, the save that registers them is not made yet."""
    for call in range(1, 30):
        world = World()
        world.begin()
        world.work()
        world.write("act")
        stalls(world, "InvokeModel", call)
        if len(pending_proposals(world.runtime, "ann", "shop")) == 2 and not world.conversation().proposals:
            return world
        world.close()
    raise AssertionError("nothing was proposed")
