"""The event log: no gap, no overlap, nothing twice, whoever writes and however often."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.errors import Gone, StaleRun
from parley.domain.events import EventName, NewEvent
from parley.turns.event_log import EventLog
from parley.turns.read_events import events_after
from tests.faults.world import World
from tests.unit.event_logs import a_log, forget


def an_event(event_id: str | None = None, text: str = "") -> NewEvent:
    return NewEvent(
        EventName.StreamMessageChunk,
        event_id,
        1,
        {"message_id": "m", "attempt": 1, "offset": 0, "text": text},
    )


def ids(world: World) -> list[str | None]:
    return [event["id"] for event in world.events()]


def test_events_are_numbered_from_one(world: World) -> None:
    log = a_log(world)
    assert log.last_seq == 0
    log.append(an_event("a"), an_event("b"))
    log.append(an_event("c"))
    assert ids(world) == ["a", "b", "c"]
    assert log.last_seq == 3
    sorts = [item.sort for item in world.store.query(f"THREAD#{world.thread_id}", "EVENT#")]
    assert sorts == ["EVENT#000000000001", "EVENT#000000000003"]
    forget(world)


def test_an_event_with_an_id_is_logged_once_by_its_writer(world: World) -> None:
    log = a_log(world)
    log.append(an_event("a"))
    log.append(an_event("a"), an_event("b"))
    log.append(an_event("a"), an_event("b"))
    assert ids(world) == ["a", "b"]
    forget(world)


def test_chunks_may_say_the_same_twice(world: World) -> None:
    log = a_log(world)
    log.append(an_event(text="ha"))
    log.append(an_event(text="ha"))
    assert [event["data"]["text"] for event in world.events()] == ["ha", "ha"]
    forget(world)


def test_two_writers_that_meet_leave_no_gap_and_lose_nothing(world: World) -> None:
    one, two = a_log(world), a_log(world)
    one.append(an_event("a"), an_event("b"))
    two.append(an_event("c"))
    one.append(an_event("d"))
    assert ids(world) == ["a", "b", "c", "d"]
    forget(world)


def test_a_writer_that_meets_its_own_event_does_not_append_it(world: World) -> None:
    late = a_log(world)
    retry = a_log(world)
    retry.append(an_event("a"))
    retry.append(an_event("b"))
    retry.append(an_event("c"))
    late.append(an_event("a"))
    late.append(an_event("c"), an_event("d"))
    assert ids(world) == ["a", "b", "c", "d"]
    forget(world)


def test_a_rerun_finds_what_was_logged_since_the_turn_began(world: World) -> None:
    first = a_log(world)
    for name in "abcde":
        first.append(an_event(name))
    again = a_log(world, rerun=True)
    assert all(again.knows(name) for name in "abcde")
    again.append(an_event("b"), an_event("f"))
    assert ids(world) == [*"abcdef"]
    forget(world)


def test_a_rerun_reads_more_than_a_page(world: World) -> None:
    first = a_log(world)
    for number in range(120):
        first.append(an_event(str(number)))
    again = a_log(world, rerun=True)
    assert again.knows("0")
    assert again.last_seq == 120
    forget(world)


def test_a_first_try_reads_the_tail_only(world: World) -> None:
    first = a_log(world)
    first.append(an_event("a"))
    first.append(an_event("b"))
    fresh = a_log(world)
    assert fresh.last_seq == 2
    assert not fresh.knows("a")
    forget(world)


def test_a_writer_told_where_to_start_catches_up_when_it_is_late(world: World) -> None:
    first = a_log(world)
    for name in "abcdef":
        first.append(an_event(name))
    started = a_log(world, start=2)
    started.append(an_event("d"), an_event("g"))
    assert ids(world) == [*"abcdefg"]
    forget(world)


class _Counting:
    """The store, counting the tries to write an event."""

    def __init__(self, world: World) -> None:
        self._store = world.runtime.store
        self.tries = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def put(self, item: Any, *, if_version: int | None) -> Any:
        self.tries += 1
        return self._store.put(item, if_version=if_version)


def test_a_writer_that_is_far_behind_is_refused_once(world: World) -> None:
    first = a_log(world)
    for number in range(120):
        first.append(an_event(str(number)))
    store: Any = _Counting(world)
    late = EventLog(replace(world.runtime, store=store), world.conversation(), rerun=False, start=0)
    late.append(an_event("late"))
    assert (late.last_seq, store.tries) == (121, 2)
    forget(world)


@given(plan=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), max_size=25))
def test_any_writers_in_any_order_number_their_events_without_a_gap(plan: list[tuple[int, int]]) -> None:
    world = World()
    world.begin()
    try:
        logs = [a_log(world), a_log(world), a_log(world, start=0), a_log(world, rerun=True)]
        names = (f"e{number}" for number in itertools.count())
        expected: list[str] = []
        for writer, count in plan:
            fresh = [next(names) for _ in range(count)]
            logs[writer].append(*[an_event(name) for name in fresh])
            expected += fresh
        assert ids(world) == expected
    finally:
        forget(world)
        world.close()


class _MeetsTheFirstEvent:
    """The store; between a reader's first query and the next, the log gets its first event."""

    def __init__(self, world: World) -> None:
        self._store = world.runtime.store
        self._append = lambda: a_log(world).append(an_event("first"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def query(self, *place: Any, **options: Any) -> Any:
        found = self._store.query(*place, **options)
        append, self._append = self._append, lambda: None
        append()
        return found


def test_a_reader_who_meets_the_first_event_being_written_is_not_told_that_it_expired(world: World) -> None:
    store: Any = _MeetsTheFirstEvent(world)
    found = events_after(replace(world.runtime, store=store), world.conversation(), 0, 10)
    assert [event.seq for event in found] == [1]
    forget(world)


def test_a_reader_is_told_of_a_hole_that_expired_between_what_is_kept(world: World) -> None:
    log = a_log(world)
    for name in "abc":
        log.append(an_event(name))
    conversation = world.conversation()
    world.store.delete(f"THREAD#{world.thread_id}", "EVENT#000000000002")
    assert [event.seq for event in events_after(world.runtime, conversation, 0, 10)] == [1]
    with pytest.raises(Gone) as told:
        events_after(world.runtime, conversation, 1, 10)
    assert told.value.details["oldest"] == 3
    assert [event.seq for event in events_after(world.runtime, conversation, 2, 10)] == [3]
    forget(world)


def test_a_writer_is_too_late_once_the_answer_that_it_works_for_is_there(world: World) -> None:
    late = EventLog(world.runtime, world.conversation(), rerun=False, until=["answer"])
    late.append(an_event("in time"))
    a_log(world).append(an_event("answer"))
    with pytest.raises(StaleRun):
        late.append(an_event("late"))
    assert ids(world) == ["in time", "answer"]
    forget(world)


def test_an_end_in_a_subthread_does_not_end_the_turn(world: World) -> None:
    log = a_log(world)
    log.append(NewEvent(EventName.TurnFailed, "sub", 1, {}, subthread_id="below"))
    log.append(an_event("goes on"))
    log.append(NewEvent(EventName.TurnFailed, "root", 1, {}))
    with pytest.raises(StaleRun):
        log.append(an_event("late"))
    assert ids(world) == ["sub", "goes on", "root"]
    forget(world)


def test_what_belongs_between_two_turns_is_too_late_in_the_second(world: World) -> None:
    log = a_log(world)
    log.append(NewEvent(EventName.ThreadEnd, "end", 1, {}))
    log.append(NewEvent(EventName.RunContinued, "continued", 1, {}))
    log.append(NewEvent(EventName.UserMessage, "next", 2, {}))
    with pytest.raises(StaleRun):
        log.append(NewEvent(EventName.ProposeActions, "late", 1, {}))
    assert ids(world) == ["end", "continued", "next"]
    forget(world)


def test_events_are_kept_for_their_time(world: World) -> None:
    a_log(world).append(an_event("a"))
    (item,) = world.store.query(f"THREAD#{world.thread_id}", "EVENT#")
    kept = world.runtime.settings.event_retention_seconds
    assert item.expires_at == int(world.clock.now()) + kept
    forget(world)


def test_a_reader_may_begin_and_stop_anywhere(world: World) -> None:
    log = a_log(world)
    for together in ("abc", "d", "ef"):
        log.append(*[an_event(name) for name in together])
    for after in range(7):
        for limit in range(1, 8):
            found = events_after(world.runtime, world.conversation(), after, limit)
            assert [event.seq for event in found] == list(range(after + 1, min(after + limit, 6) + 1))
    forget(world)


def test_a_page_ends_where_it_has_enough_to_carry_but_has_one_event(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = a_log(world)
    for size in (10, 900, 10, 10, 10):
        log.append(an_event(text=size * "x"))
    monkeypatch.setattr("parley.turns.read_events.PAGE_BYTES", 500)
    pages, after = [], 0
    while found := events_after(world.runtime, world.conversation(), after, 100):
        pages.append([event.seq for event in found])
        after = found[-1].seq
    assert pages == [[1], [2], [3, 4, 5]]
    forget(world)


def test_a_log_that_has_expired_whole_is_told_to_have_been_there(world: World) -> None:
    world.work()
    kept = world.store.query(f"THREAD#{world.thread_id}", "EVENT#", limit=1000)
    conversation = world.conversation()
    forget(world)
    with pytest.raises(Gone) as told:
        events_after(world.runtime, conversation, 0, 10)
    assert told.value.details["oldest"] == conversation.last_seq + 1 > 1
    assert events_after(world.runtime, conversation, conversation.last_seq, 10) == []
    for item in kept:
        world.store.put(item, if_version=0)
