"""The thread protocol, rule by rule: turns."""

from __future__ import annotations

import pytest

from parley.domain.conversation import (
    CANCEL_SECONDS,
    SIGNAL_GRACE_SECONDS,
    SUMMARY_LIMIT,
    Phase,
    RunStatus,
    due_at,
)
from parley.domain.errors import StaleRun
from parley.domain.protocol import (
    begin_recording,
    cancel,
    close_run,
    finish_turn,
    hand_over,
    new_attempt,
    open_turn,
    receive,
    told,
)
from tests.support.threads import (
    NOW,
    TERMS,
    a_new_thread,
    accepted,
    finished,
    in_a_turn,
    opened,
    parked,
    proposed,
    received,
)


def test_opening_the_turn_counts_it_and_remembers_where_the_log_stood() -> None:
    thread = received(a_new_thread())
    thread = open_turn(thread, thread.run_id, "m1", last_seq=7, policy="reject", propose_actions=None)
    assert thread.turn == 1
    assert thread.turns == 0
    assert thread.last_seq == 7
    assert thread.on_message_while_pending == "reject"


def test_opening_the_turn_takes_over_whether_the_agent_suggests_actions() -> None:
    thread = received(a_new_thread())
    asked = open_turn(thread, thread.run_id, "m1", last_seq=0, policy="queue", propose_actions=True)
    assert asked.propose_actions
    failed = open_turn(
        asked.but(turn=None), asked.run_id, "m1", last_seq=0, policy="queue", propose_actions=None
    )
    assert failed.propose_actions


def test_opening_the_turn_again_changes_nothing() -> None:
    thread = in_a_turn()
    assert open_turn(thread, thread.run_id, "m1", last_seq=9, policy="queue", propose_actions=None) is thread


def test_opening_the_turn_of_a_parked_run_tells_that_the_wake_arrived() -> None:
    thread = opened(accepted(parked(), "m2"))
    assert thread.run.status is RunStatus.RUNNING
    assert thread.run.token is None


def test_a_task_that_was_given_up_cannot_open_the_turn_of_a_later_message() -> None:
    thread = received(finished(accepted(in_a_turn(), "m2")))
    with pytest.raises(StaleRun):
        open_turn(thread, thread.run_id, "m1", last_seq=0, policy="queue", propose_actions=None)


def test_recording_begun_twice_needs_one_save() -> None:
    thread = in_a_turn()
    shown = begin_recording(thread, thread.run_id, 1)
    assert shown.phase is Phase.RECORDING_REPLY
    assert begin_recording(shown, thread.run_id, 1) is shown


def test_a_turn_whose_end_is_being_recorded_cannot_be_cancelled() -> None:
    thread = in_a_turn()
    recording = begin_recording(thread, thread.run_id, 1)
    assert cancel(recording, now=NOW) is recording
    again = opened(received(new_attempt(recording, recording.run_id)))
    assert again.phase is Phase.RECORDING_REPLY
    assert cancel(again, now=NOW) is again
    second = opened(received(accepted(finished(again), "m2")))
    assert cancel(second, now=NOW).cancelled


def test_the_end_of_a_cancelled_turn_or_of_another_is_not_recorded() -> None:
    cancelled = cancel(in_a_turn(), now=NOW)
    assert begin_recording(cancelled, cancelled.run_id, 1) is cancelled
    thread = in_a_turn()
    assert begin_recording(thread, thread.run_id, 2) is thread
    over = finished(thread)
    assert begin_recording(over, over.run_id, 1) is over


def test_the_message_that_ends_the_conversation_cannot_be_cancelled() -> None:
    ending = received(accepted(parked(), "end", ending=True))
    assert cancel(ending, now=NOW) is ending
    before = accepted(in_a_turn(), "end", ending=True)
    assert cancel(before, now=NOW).cancelled


def test_an_inbox_is_read_by_the_latest_task_only() -> None:
    thread = finished(in_a_turn())
    late = receive(thread, thread.run_id, "later", "2026-11-30T19:00:00.000Z#001")
    for order in ("2026-11-30T19:00:00.000Z#000", "2026-11-30T18:59:59.999Z#006"):
        with pytest.raises(StaleRun):
            receive(late, late.run_id, "given up", order)
    for order in ("2026-11-30T19:00:00.000Z#001", "2026-11-30T19:00:00.001Z#000"):
        assert receive(late, late.run_id, "next", order).run.token == "next"
    again = new_attempt(late, late.run_id)
    assert receive(again, again.run_id, "of the next attempt", "").run.status is RunStatus.PARKED


def test_what_a_save_owes_the_log_is_due_until_it_is_told() -> None:
    thread = finished(in_a_turn())
    handed = hand_over(thread, thread.run_id, TERMS, NOW)
    (continued,) = handed.untold
    assert (continued.generation, continued.status, continued.turns) == (1, "continued", 1)
    waiting = received(handed, "park")
    closed = close_run(waiting, waiting.run_id, NOW)
    (_, ended) = closed.untold
    assert (ended.generation, ended.status, ended.stopped_at) == (2, "inactive", NOW)
    assert due_at(closed, NOW) == NOW + SIGNAL_GRACE_SECONDS
    half = told(closed, (continued,), 7)
    assert (half.untold, half.last_seq) == ((ended,), 7)
    assert told(half, (continued,), 9) is half
    assert due_at(told(half, (ended,), 8), NOW) is None


def test_a_cancelled_turn_that_does_not_move_is_looked_at_soon() -> None:
    assert due_at(cancel(in_a_turn(), now=NOW), NOW) == NOW + CANCEL_SECONDS


def test_giving_up_the_execution_of_a_cancelled_turn_is_no_death_of_its_message() -> None:
    thread = cancel(in_a_turn(), now=NOW)
    again = new_attempt(thread, thread.run_id)
    assert (again.run.attempt, again.run.deaths) == (2, 0)


def test_finishing_a_turn_frees_the_run_and_counts() -> None:
    thread = in_a_turn()
    done = finish_turn(
        thread, thread.run_id, 1, reply_ref="thread/1", summary="short", last_seq=12, now=NOW + 3
    )
    assert (done.turn, done.turns, done.run.turns) == (None, 1, 1)
    assert done.run.message_id is None
    assert done.last_reply_ref == "thread/1"
    assert done.summary == "short"
    assert done.last_seq == 12
    assert done.updated_at == NOW + 3
    assert done.phase is Phase.WAITING_FOR_INPUT


def test_a_turn_without_a_reply_keeps_the_last_reference() -> None:
    thread = in_a_turn().but(last_reply_ref="thread/0")
    done = finish_turn(thread, thread.run_id, 1, reply_ref=None, summary="", last_seq=0, now=NOW)
    assert done.last_reply_ref == "thread/0"


def test_the_summary_stays_bounded() -> None:
    thread = in_a_turn()
    done = finish_turn(thread, thread.run_id, 1, reply_ref=None, summary="x" * 9000, last_seq=0, now=NOW)
    assert len(done.summary) == SUMMARY_LIMIT


def test_finishing_a_turn_forgets_its_proposals_its_cancel_and_its_deaths() -> None:
    thread = proposed(in_a_turn())
    thread = received(new_attempt(thread, thread.run_id))
    assert thread.run.deaths == 1
    done = finished(cancel(thread, now=NOW))
    assert done.proposals == ()
    assert done.cancelled is False
    assert done.run.deaths == 0


def test_finishing_a_turn_twice_changes_nothing() -> None:
    done = finished(in_a_turn())
    assert finish_turn(done, done.run_id, 1, reply_ref="x", summary="x", last_seq=99, now=NOW) is done


def test_a_task_that_was_given_up_cannot_finish_the_turn_after_its_own() -> None:
    second = opened(received(finished(accepted(in_a_turn(), "m2"))))
    assert second.turn == 2
    assert finish_turn(second, second.run_id, 1, reply_ref="x", summary="", last_seq=0, now=NOW) is second


def test_the_next_message_is_already_thought_about_when_a_turn_ends() -> None:
    assert finished(accepted(in_a_turn(), "m2")).phase is Phase.THINKING
