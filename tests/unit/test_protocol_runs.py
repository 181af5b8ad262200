"""The thread protocol, rule by rule: hand-over, silence, the end, cancels, dead executions."""

from __future__ import annotations

import pytest

from parley.domain.conversation import (
    CALLS_PER_RUN,
    Conversation,
    Phase,
    RunId,
    RunStatus,
    RunTerms,
)
from parley.domain.errors import Conflict
from parley.domain.protocol import (
    cancel,
    close_run,
    complete,
    count_calls,
    hand_over,
    new_attempt,
    note_seq,
    should_hand_over,
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
    received,
)


def test_a_run_hands_over_after_its_turns() -> None:
    one = finished(in_a_turn(terms=RunTerms(2, 60)))
    assert not should_hand_over(one)
    two = finished(opened(received(accepted(received(one), "m2"))))
    assert should_hand_over(two)


def test_a_run_hands_over_after_very_many_calls_whatever_its_turns() -> None:
    thread = in_a_turn()
    assert should_hand_over(finished(count_calls(thread, thread.run_id, CALLS_PER_RUN)))
    assert not should_hand_over(finished(count_calls(thread, thread.run_id, CALLS_PER_RUN - 1)))


def test_a_run_does_not_hand_over_in_the_middle_of_a_turn() -> None:
    thread = in_a_turn(terms=RunTerms(1, 60))
    assert not should_hand_over(thread)


def test_handing_over_leaves_the_inbox_where_it_is() -> None:
    thread = finished(accepted(in_a_turn(), "m2"))
    next_run = hand_over(thread, thread.run_id, RunTerms(5, 50), NOW + 1)
    assert next_run.run_id == RunId("thread", 2, 1)
    assert next_run.run.status is RunStatus.STARTING
    assert next_run.inbox == ("m2",)
    assert next_run.phase is Phase.CONTINUING_AS_NEW
    assert received(next_run).run.message_id == "m2"


def test_handing_over_takes_along_a_message_that_a_stalled_task_claimed() -> None:
    thread = received(finished(accepted(in_a_turn(), "m2")))
    assert hand_over(thread, thread.run_id, TERMS, NOW).run.message_id == "m2"


def test_inactivity_closes_the_run_and_not_the_thread() -> None:
    thread = parked()
    closed = close_run(thread, thread.run_id, NOW)
    assert closed.run.status is RunStatus.CLOSED
    assert closed.run.token is None
    assert closed.phase is Phase.WAITING_FOR_INPUT
    assert accepted(closed, "m2").run.generation == 2


def test_a_run_for_which_a_message_came_after_all_is_not_closed() -> None:
    thread = accepted(parked(), "m2")
    assert close_run(thread, thread.run_id, NOW) is thread
    unclaimed = finished(accepted(in_a_turn(), "m2"))
    assert close_run(unclaimed, unclaimed.run_id, NOW) is unclaimed


def test_the_end_completes_the_thread_for_good() -> None:
    thread = received(accepted(parked(), "end", ending=True))
    done = complete(thread, thread.run_id, now=NOW + 1)
    assert done.phase is Phase.COMPLETED
    assert done.run.status is RunStatus.CLOSED
    assert done.run.message_id is None
    assert [over.status for over in done.untold] == ["completed"]
    with pytest.raises(Conflict):
        accepted(done, "m3")


def test_messages_before_the_end_are_answered_first() -> None:
    thread = accepted(accepted(in_a_turn(), "m2"), "end", ending=True)
    thread = received(finished(thread))
    assert thread.run.message_id == "m2"
    assert thread.ending
    assert finished(opened(thread)).ending


def test_an_end_that_failed_may_be_sent_again() -> None:
    thread = finished(opened(received(accepted(parked(), "end", ending=True))))
    assert thread.ending is False
    assert accepted(thread, "end again", ending=True).ending is True


def test_cancel_asks_the_open_turn_to_stop_once() -> None:
    thread = cancel(in_a_turn(), now=NOW)
    assert thread.cancelled
    assert cancel(thread, now=NOW) is thread


def test_cancel_reaches_a_message_that_is_claimed_and_not_begun() -> None:
    assert cancel(a_new_thread(), now=NOW).cancelled


def test_there_is_nothing_to_cancel_between_turns() -> None:
    thread = parked()
    assert cancel(thread, now=NOW) is thread


def test_a_dead_execution_is_followed_by_the_next_attempt_with_the_same_message() -> None:
    thread = in_a_turn()
    again = new_attempt(thread, thread.run_id)
    assert again.run_id == RunId("thread", 1, 2)
    assert again.run.status is RunStatus.STARTING
    assert again.run.message_id == "m1"
    assert again.run.deaths == 1
    assert again.turn == 1
    assert received(again).run.status is RunStatus.RUNNING


def test_a_dead_parked_execution_starts_again_without_a_token() -> None:
    thread = parked()
    again = new_attempt(thread, thread.run_id)
    assert again.run.status is RunStatus.STARTING
    assert again.run.token is None


def test_the_deaths_of_an_idle_run_do_not_count_against_the_next_message() -> None:
    thread = parked()
    for _ in range(5):
        thread = received(new_attempt(thread, thread.run_id))
    assert thread.run.attempt == 6
    assert accepted(thread, "m2").run.deaths == 0


def test_two_repairs_of_one_death_start_one_attempt() -> None:
    thread = in_a_turn()
    dead = thread.run_id
    again = new_attempt(thread, dead)
    assert new_attempt(again, dead) is again


def test_a_closed_run_is_not_started_again() -> None:
    waiting = parked()
    closed = close_run(waiting, waiting.run_id, NOW)
    assert new_attempt(closed, closed.run_id) is closed


def test_how_far_the_log_goes_is_remembered_between_turns_only() -> None:
    thread = parked()
    assert note_seq(thread, 9).last_seq == 9
    assert note_seq(thread, 0) is thread
    turning: Conversation = in_a_turn()
    assert note_seq(turning, 9) is turning
