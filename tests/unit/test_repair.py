"""Repair: what a pass finds, what it leaves alone, and what it does about the rest."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from parley.domain import keys
from parley.domain.conversation import CANCEL_SECONDS, DEAD_ATTEMPTS, WATCHDOG_SECONDS, Run, RunStatus
from parley.turns import conversations, repair
from parley.turns.ports import ExecutionStatus, IndexKey, Item
from parley.turns.repair import Repaired, repair_due, repair_execution
from parley.wiring import use
from tests.faults.test_accidents import overwrite, reach
from tests.faults.world import World


def test_a_thread_that_cannot_be_repaired_hides_no_other(world: World) -> None:
    first = IndexKey(keys.DUE_SHARDS[0], "0" * 15)
    broken = Item(keys.thread_partition("broken"), keys.CONVERSATION, "{}", due=first)
    world.store.put(broken, if_version=0)
    assert {kind for kind, _ in world.take_signals()} == {"start"}
    world.time_passes(WATCHDOG_SECONDS)
    with pytest.raises(ValidationError):
        repair_due(world.runtime)
    assert [kind for kind, _ in world.orchestrator.sent] == ["start"]
    world.store.delete(broken.partition, broken.sort)


def test_an_idle_run_that_cannot_read_its_inbox_is_not_started_at_once_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    world.resources.callback(use, None)
    with world.resources:  # it never comes to rest, which ``close`` would wait for
        world.begin()
        monkeypatch.setattr(world.orchestrator, "status", lambda name: ExecutionStatus.FAILED)
        run = Run(generation=1, attempt=1, turns_per_run=3, inactivity_seconds=60, started_at=0.0)
        for attempt in range(1, 10):
            idle = world.conversation().but(run=run.but(attempt=attempt, status=RunStatus.RUNNING), inbox=())
            stored = conversations.find(world.runtime, idle.thread_id)
            assert stored is not None
            conversations.save(world.runtime, idle, if_version=stored.version)
            done = repair_execution(world.runtime, keys.execution_name(*idle.run_id))
            assert done.restarted == (attempt <= DEAD_ATTEMPTS)


@pytest.mark.parametrize("times", [(0, 1, 2, 3, 4), (0, 0, 0, 0, 0), (0, 1, 1, 1, 2)])
def test_what_is_due_is_found_beyond_the_first_page_of_a_shard(
    world: World, monkeypatch: pytest.MonkeyPatch, times: tuple[int, ...]
) -> None:
    monkeypatch.setattr(repair, "PAGE", 2)
    world.take_signals()
    names = [f"broken-{number}" for number in range(5)]
    for name, time in zip(names, times, strict=True):
        due = IndexKey(keys.DUE_SHARDS[0], conversations.sortable(float(time)))
        world.store.put(Item(keys.thread_partition(name), keys.CONVERSATION, "{}", due=due), if_version=0)
    done = Repaired()
    with pytest.raises(ValidationError):
        repair_due(world.runtime, done)
    assert done.failed == len(names)
    for name in names:
        world.store.delete(keys.thread_partition(name), keys.CONVERSATION)


def test_what_a_dead_execution_nested_ends_at_once(world: World) -> None:
    """It waits for a decision: woken, it finds that nobody wants it."""
    world.work()
    world.write("ask now")
    world.work()
    running = {e.name for e in world.stepper.executions.values() if e.status is ExecutionStatus.RUNNING}
    assert len(running) == 2
    world.stepper.kill(min(running, key=len))
    repair_execution(world.runtime, min(running, key=len))
    world.work()
    still = [e.name for e in world.stepper.executions.values() if e.status is ExecutionStatus.RUNNING]
    assert len(still) == 2
    assert not running & set(still)


@pytest.mark.parametrize(("status", "restarted"), [(RunStatus.RUNNING, 1), (RunStatus.STARTING, 0)])
def test_a_run_whose_execution_is_not_there_is_dead_unless_it_only_begins(
    world: World, monkeypatch: pytest.MonkeyPatch, status: RunStatus, restarted: int
) -> None:
    reach(world, "InvokeModel")
    conversation = world.conversation()
    overwrite(world, conversation.but(run=conversation.run.but(status=status)))
    monkeypatch.setattr(world.orchestrator, "status", lambda name: None)
    done = repair_execution(world.runtime, keys.execution_name(*conversation.run_id))
    assert (done.restarted, done.signalled) == (restarted, 1)
    monkeypatch.undo()


def test_a_run_that_is_alive_is_looked_at_once_per_watchdogs_time(world: World) -> None:
    reach(world, "InvokeModel")
    world.clock.advance(2 * WATCHDOG_SECONDS)
    assert [repair_due(world.runtime).looked_at for _ in range(2)] == [1, 0]


def test_what_is_due_lies_in_the_shard_of_its_thread(world: World) -> None:
    item = world.store.get(keys.thread_partition(world.thread_id), keys.CONVERSATION)
    assert item is not None
    assert item.due is not None
    assert item.due.partition == keys.due_shard(world.thread_id) != keys.DUE_SHARDS[0]
    assert {keys.due_shard(str(number)) for number in range(200)} == set(keys.DUE_SHARDS)


def test_the_execution_of_a_cancelled_turn_that_hangs_is_stopped(world: World) -> None:
    reach(world, "InvokeModel")
    name = keys.execution_name(*world.conversation().run_id)
    world.cancel()
    world.clock.advance(CANCEL_SECONDS + 1.0)
    assert repair_due(world.runtime).restarted == 1
    assert world.stepper.executions[name].status is ExecutionStatus.ABORTED
