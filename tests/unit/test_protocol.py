"""The thread protocol, rule by rule: messages, turns and runs."""

from __future__ import annotations

from typing import Any

import pytest

from parley.domain.conversation import (
    CALLS_PER_RUN,
    CANCEL_SECONDS,
    QUEUE_LIMIT,
    SIGNAL_GRACE_SECONDS,
    SUMMARY_LIMIT,
    Conversation,
    Phase,
    RunId,
    RunStatus,
    RunTerms,
    due_at,
)
from parley.domain.errors import Conflict, StaleRun, TooManyQueued
from parley.domain.protocol import (
    accept,
    begin_recording,
    cancel,
    close_run,
    complete,
    count_calls,
    finish_turn,
    hand_over,
    new_attempt,
    note_seq,
    open_turn,
    receive,
    should_hand_over,
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


def test_a_new_thread_has_its_first_message_claimed_for_a_run_that_is_to_be_started() -> None:
    thread = a_new_thread()
    assert (thread.run.generation, thread.run.attempt) == (1, 1)
    assert thread.run.status is RunStatus.STARTING
    assert thread.run.message_id == "m1"
    assert thread.inbox == ()
    assert thread.phase is Phase.THINKING


def test_a_message_that_comes_during_a_turn_waits_behind_the_others() -> None:
    thread = accepted(accepted(in_a_turn(), "m2"), "m3")
    assert thread.inbox == ("m2", "m3")
    assert thread.run.message_id == "m1"


def test_a_message_for_a_parked_run_is_claimed_at_once() -> None:
    thread = accepted(parked(), "m2")
    assert thread.run.message_id == "m2"
    assert thread.inbox == ()
    assert thread.run.status is RunStatus.PARKED
    assert thread.run.token == "park"
    assert thread.phase is Phase.THINKING


def test_a_second_message_for_a_parked_run_waits_behind_the_claimed_one() -> None:
    thread = accepted(accepted(parked(), "m2"), "m3")
    assert thread.run.message_id == "m2"
    assert thread.inbox == ("m3",)


def test_a_message_for_a_run_that_is_starting_without_one_is_claimed_for_it() -> None:
    over = finished(in_a_turn())
    starting = hand_over(over, over.run_id, TERMS, NOW)
    thread = accepted(starting, "m2")
    assert thread.run.message_id == "m2"
    assert thread.phase is Phase.THINKING


def test_a_message_for_a_closed_run_starts_the_next_generation_with_new_terms() -> None:
    waiting = parked()
    closed = close_run(waiting, waiting.run_id, NOW)
    thread = accept(closed, "m2", terms=RunTerms(7, 70), ending=False, now=NOW + 9)
    assert thread.run_id == RunId("thread", 2, 1)
    assert thread.run.status is RunStatus.STARTING
    assert thread.run.message_id == "m2"
    assert (thread.run.turns_per_run, thread.run.inactivity_seconds) == (7, 70)
    assert (thread.run.turns, thread.run.calls, thread.run.deaths) == (0, 0, 0)
    assert thread.run.started_at == NOW + 9
    assert thread.phase is Phase.THINKING


@pytest.mark.parametrize("message_id", ["m1", "m2"])
def test_a_message_that_is_claimed_or_queued_already_changes_nothing(message_id: str) -> None:
    thread = accepted(in_a_turn(), "m2")
    assert accepted(thread, message_id) is thread


def test_the_mailbox_takes_twenty_messages_and_then_refuses_the_next() -> None:
    thread = in_a_turn()
    for number in range(QUEUE_LIMIT):
        thread = accepted(thread, f"q{number}")
    with pytest.raises(TooManyQueued):
        accepted(thread, "one more")


def test_a_full_mailbox_still_knows_a_repeated_message() -> None:
    thread = in_a_turn()
    for number in range(QUEUE_LIMIT):
        thread = accepted(thread, f"q{number}")
    assert accepted(thread, "q19") is thread


def test_nothing_is_accepted_behind_the_message_that_ends_the_thread() -> None:
    thread = accepted(in_a_turn(), "end", ending=True)
    with pytest.raises(Conflict) as refused:
        accepted(thread, "m3")
    assert refused.value.type == "conversation_completed"


def test_a_repeated_end_is_known_while_it_waits() -> None:
    thread = accepted(in_a_turn(), "end", ending=True)
    assert accepted(thread, "end", ending=True) is thread


def test_accepting_moves_the_thread_to_the_front_of_the_list() -> None:
    thread = accepted(in_a_turn(), "m2", now=NOW + 5)
    assert thread.active_at == thread.updated_at == NOW + 5


def test_receive_hands_out_the_claimed_message() -> None:
    thread = received(a_new_thread())
    assert thread.run.status is RunStatus.RUNNING
    assert thread.run.message_id == "m1"


def test_receive_hands_out_the_oldest_waiting_message() -> None:
    thread = received(finished(accepted(accepted(in_a_turn(), "m2"), "m3")))
    assert thread.run.message_id == "m2"
    assert thread.inbox == ("m3",)
    assert thread.run.status is RunStatus.RUNNING
    assert thread.phase is Phase.THINKING


def test_receive_on_an_empty_mailbox_parks_with_the_token() -> None:
    thread = received(finished(in_a_turn()), "park")
    assert thread.run.status is RunStatus.PARKED
    assert thread.run.token == "park"
    assert thread.phase is Phase.WAITING_FOR_INPUT


def test_receive_entered_again_waits_on_the_new_token() -> None:
    assert received(parked(), "again").run.token == "again"


def test_receive_after_a_lost_wake_hands_out_what_was_claimed_while_it_was_parked() -> None:
    thread = received(accepted(parked(), "m2"), "again")
    assert thread.run.status is RunStatus.RUNNING
    assert thread.run.message_id == "m2"
    assert thread.run.token is None


RULES: list[Any] = [
    lambda c, run: receive(c, run, "token"),
    lambda c, run: open_turn(c, run, "m1", last_seq=0, policy="queue", propose_actions=None),
    lambda c, run: begin_recording(c, run, 1),
    lambda c, run: count_calls(c, run, 1),
    lambda c, run: finish_turn(c, run, 1, reply_ref=None, summary="", last_seq=0, now=NOW),
    lambda c, run: hand_over(c, run, TERMS, NOW),
    lambda c, run: close_run(c, run, NOW),
    lambda c, run: complete(c, run, now=NOW),
]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("stale", [RunId("thread", 1, 1), RunId("thread", 2, 2), RunId("thread", 3, 1)])
def test_a_run_that_no_longer_speaks_for_the_thread_can_do_nothing(rule: Any, stale: RunId) -> None:
    over = finished(in_a_turn())
    second = opened(received(accepted(hand_over(over, over.run_id, TERMS, NOW), "m2")))
    assert second.run_id == RunId("thread", 2, 1)
    with pytest.raises(StaleRun):
        rule(second, stale)


@pytest.mark.parametrize("rule", RULES)
def test_a_closed_run_can_do_nothing(rule: Any) -> None:
    waiting = parked()
    closed = close_run(waiting, waiting.run_id, NOW)
    with pytest.raises(StaleRun):
        rule(closed, closed.run_id)


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


def test_a_mailbox_is_read_by_the_latest_task_only() -> None:
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
    thread = cancel(proposed(in_a_turn()), now=NOW)
    thread = received(new_attempt(thread, thread.run_id))
    done = finished(thread)
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


def test_handing_over_leaves_the_mailbox_where_it_is() -> None:
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
