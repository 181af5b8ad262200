"""Accepting messages: the same POST finds the same message, whatever became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from parley.domain import keys
from parley.domain.conversation import QUEUE_LIMIT, RunStatus
from parley.domain.errors import Conflict, InvalidRequest, NotFound, StoreUnavailable, TooManyQueued
from parley.turns.accept_message import MessageAccepted, NewMessage, continue_thread, start_thread
from parley.turns.accepted import fingerprint_of
from parley.turns.ports import Item, Store
from tests.faults.test_accidents import reach
from tests.faults.world import INACTIVITY, World
from tests.support.faulty import Fault


def post(world: World, message: str = "talk", user: str = "ann", **fields: Any) -> MessageAccepted:
    """Post to the thread."""
    posted = NewMessage(message=message, **fields)
    return continue_thread(world.runtime, user, "shop", world.thread_id, posted)


def accept(world: World, message: str, **fields: Any) -> MessageAccepted:
    """Post to the thread, and have it remembered as accepted."""
    answer = post(world, message, **fields)
    world.accepted.append(message)
    return answer


def start(world: World, message: str = "talk 0", **fields: Any) -> MessageAccepted:
    """Post a first message."""
    posted = NewMessage(message=message, **fields)
    return start_thread(world.runtime, "ann", "shop", "helper", posted)


def test_a_repeated_first_post_finds_the_thread_that_it_opened(world: World) -> None:
    world.take_signals()
    again = start(world, client_message_id="c0")
    assert [kind for kind, _ in world.orchestrator.sent] == ["start"]
    assert again.thread_id == world.thread_id
    assert again.message_id == keys.message_id_for(world.thread_id, "c0")
    world.work()
    assert start(world, client_message_id="c0") == again
    assert world.conversation().turns == 1


def test_a_first_post_without_an_id_opens_a_thread_each_time(world: World) -> None:
    assert start(world).thread_id != start(world).thread_id


def test_a_repeated_post_finds_the_first_message_while_it_waits_and_after_it_was_answered(
    world: World,
) -> None:
    first = accept(world, "talk 1", client_message_id="x")
    assert post(world, "talk 1", client_message_id="x") == first
    assert world.conversation().inbox == (first.message_id,)
    world.work()
    assert post(world, "talk 1", client_message_id="x") == first
    world.work()
    assert world.conversation().turns == 2


def test_a_repeated_post_is_known_when_its_run_is_closed_and_wakes_nobody(world: World) -> None:
    first = accept(world, "talk 1", client_message_id="x")
    world.work()
    world.time_passes(INACTIVITY + 10.0)
    world.work()
    assert world.conversation().run.status is RunStatus.CLOSED
    assert post(world, "talk 1", client_message_id="x") == first
    assert world.conversation().run.status is RunStatus.CLOSED


def test_a_repeated_post_is_known_after_the_end(world: World) -> None:
    first = accept(world, "talk 1", client_message_id="x")
    ended = accept(world, "/end", client_message_id="end")
    world.work()
    assert post(world, "talk 1", client_message_id="x") == first
    assert post(world, "/end", client_message_id="end") == ended
    with pytest.raises(Conflict):
        post(world, "talk 2")
    with pytest.raises(InvalidRequest):
        post(world, "talk 2", client_message_id="x")


@pytest.mark.parametrize("answered", [False, True])
def test_another_message_under_a_used_id_is_refused(world: World, answered: bool) -> None:
    accept(world, "talk 1", client_message_id="x")
    if answered:
        world.work()
    with pytest.raises(InvalidRequest) as refused:
        post(world, "talk 2", client_message_id="x")
    assert refused.value.type == "client_message_id_reused"


def test_a_predefined_message_is_another_than_one_of_its_name() -> None:
    assert fingerprint_of("welcome", None) != fingerprint_of(None, "welcome")


def test_a_full_inbox_refuses_a_message_and_keeps_nothing_of_it(world: World) -> None:
    for number in range(QUEUE_LIMIT):
        accept(world, f"talk {number + 1}", client_message_id=f"q{number}")
    with pytest.raises(TooManyQueued):
        post(world, "one more", client_message_id="late")
    late = keys.message_id_for(world.thread_id, "late")
    assert world.store.get(keys.thread_partition(world.thread_id), keys.inbox(late)) is None
    world.work()
    accept(world, "one more", client_message_id="late")


def test_a_message_for_a_run_that_is_over_is_refused_if_it_names_that_run(world: World) -> None:
    world.work()
    world.time_passes(INACTIVITY + 10.0)
    world.work()
    with pytest.raises(Conflict) as refused:
        post(world, generation=1)
    assert refused.value.type == "run_closed"
    accept(world, "talk 1")
    assert world.conversation().run.generation == 2


def test_a_run_that_there_never_was_is_refused(world: World) -> None:
    with pytest.raises(InvalidRequest):
        post(world, generation=7)


def test_a_stranger_finds_no_thread(world: World) -> None:
    with pytest.raises(NotFound):
        post(world, user="bob")


def test_a_persons_wishes_hold_for_the_next_run(world: World) -> None:
    world.work()
    accept(world, "talk 1", turns_per_run=5, inactivity_seconds=99)
    world.work()
    assert world.conversation().run.turns_per_run == 3
    world.time_passes(INACTIVITY + 10.0)
    world.work()
    accept(world, "talk 2", turns_per_run=7)
    run = world.conversation().run
    assert (run.turns_per_run, run.inactivity_seconds) == (7, 99)


class _Overtaken:
    """A store through which something else happens right before the first save of the aggregate."""

    def __init__(self, inner: Store, happens: Callable[[], object]) -> None:
        self._inner = inner
        self._happens: Callable[[], object] | None = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def put(self, item: Item, *, if_version: int | None) -> Item:
        if item.sort == keys.CONVERSATION and self._happens:
            happens, self._happens = self._happens, None
            happens()
        return self._inner.put(item, if_version=if_version)


def test_a_post_that_came_no_further_than_its_body_is_refused_like_a_new_one(world: World) -> None:
    def dies() -> None:
        raise StoreUnavailable

    dying = replace(world.runtime, store=_Overtaken(world.runtime.store, dies))
    with pytest.raises(StoreUnavailable):
        continue_thread(
            dying, "ann", "shop", world.thread_id, NewMessage(message="late", client_message_id="x")
        )
    for number in range(QUEUE_LIMIT):
        accept(world, f"talk {number + 1}")
    with pytest.raises(TooManyQueued):
        post(world, "late", client_message_id="x")
    world.work()
    accept(world, "late", client_message_id="x")


def test_a_post_that_is_overtaken_by_its_own_repetition_and_the_whole_turn_adds_nothing(world: World) -> None:
    world.work()
    repeated = NewMessage(message="talk", client_message_id="c7")

    def overtake() -> None:
        continue_thread(world.runtime, "ann", "shop", world.thread_id, repeated)
        world.accepted.append("talk")
        world.work()

    slow = replace(world.runtime, store=_Overtaken(world.runtime.store, overtake))
    answer = continue_thread(slow, "ann", "shop", world.thread_id, repeated)
    world.work()
    assert answer.message_id == keys.message_id_for(world.thread_id, "c7")
    assert world.conversation().turns == 2
    assert world.conversation().inbox == ()


def test_a_message_in_the_instant_in_which_the_run_would_close_is_answered_by_it(world: World) -> None:
    world.work()
    world.time_passes(INACTIVITY + 10.0)
    reach(world, "CloseRun")
    accept(world, "talk 1")
    world.work()
    assert (world.conversation().turns, world.conversation().run_id[1:]) == (2, (1, 1))


@pytest.mark.parametrize("call", range(1, 12))
def test_the_end_of_a_cancelled_turn_is_finished_by_the_next_try_wherever_the_first_died(
    world: World, call: int
) -> None:
    world.work()
    world.write("talk 1")
    reach(world, "InvokeModel")
    world.cancel()
    reach(world, "RecordReply")
    (branch,) = (branch for branch in world.stepper.ready() if branch.state == "RecordReply")
    world.fault = Fault("dies", call, behind=True)
    world.stepper.step(branch)
    world.fault = None
    world.time_passes(10.0)
    world.work()
    assert world.conversation().run.status is RunStatus.PARKED
