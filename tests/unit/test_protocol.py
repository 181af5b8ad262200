"""The thread protocol, rule by rule: messages, and who takes them."""

from __future__ import annotations

from typing import Any

import pytest

from parley.domain.conversation import (
    QUEUE_LIMIT,
    Phase,
    RunId,
    RunStatus,
    RunTerms,
)
from parley.domain.errors import Conflict, StaleRun, TooManyQueued
from parley.domain.protocol import (
    accept,
    begin_recording,
    close_run,
    complete,
    count_calls,
    finish_turn,
    hand_over,
    open_turn,
    receive,
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


def test_the_inbox_takes_twenty_messages_and_then_refuses_the_next() -> None:
    thread = in_a_turn()
    for number in range(QUEUE_LIMIT):
        thread = accepted(thread, f"q{number}")
    with pytest.raises(TooManyQueued):
        accepted(thread, "one more")


def test_a_full_inbox_still_knows_a_repeated_message() -> None:
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


def test_receive_on_an_empty_inbox_parks_with_the_token() -> None:
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
