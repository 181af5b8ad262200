"""What can be read off the aggregate: what is left to signal, and when repair has to look."""

from __future__ import annotations

from parley.domain.conversation import (
    SIGNAL_GRACE_SECONDS,
    WATCHDOG_SECONDS,
    WATCHDOG_STEP,
    Conversation,
    StartRun,
    WakeToken,
    due_at,
    signals,
)
from parley.domain.decisions import decide, take_decision
from parley.domain.proposals import Outcome
from parley.domain.protocol import cancel, close_run, complete, hand_over, new_attempt, told
from tests.support.threads import (
    NOW,
    TERMS,
    a_new_thread,
    accepted,
    finished,
    in_a_turn,
    parked,
    proposed,
    received,
)

SOON = NOW + SIGNAL_GRACE_SECONDS


def test_a_new_thread_is_signalled_by_starting_its_run() -> None:
    thread = a_new_thread()
    payload = {
        "run": {
            "thread_id": "thread",
            "generation": 1,
            "attempt": 1,
            "subthread_id": None,
            "depth": 0,
            "inactivity_seconds": 60,
        }
    }
    assert signals(thread) == [StartRun("thread-1-1", payload)]
    assert due_at(thread, NOW) == SOON


def test_a_message_for_a_starting_run_leaves_its_input_as_it_is() -> None:
    assert signals(accepted(a_new_thread(), "m2")) == signals(a_new_thread())


def test_a_parked_run_with_a_message_is_signalled_by_answering_its_token() -> None:
    thread = accepted(parked(), "m2")
    assert signals(thread) == [WakeToken("park")]
    assert due_at(thread, NOW) == SOON


def test_a_parked_run_needs_no_look() -> None:
    assert signals(parked()) == []
    assert due_at(parked(), NOW) is None


def test_a_closed_or_completed_run_needs_no_look() -> None:
    thread = parked()
    closed = close_run(thread, thread.run_id, NOW)
    ended = received(accepted(parked(), "end", ending=True))
    for untold in (closed, complete(ended, ended.run_id, now=NOW)):
        over = told(untold, untold.untold, 0)
        assert signals(over) == []
        assert due_at(over, NOW) is None


def test_the_save_of_the_woken_run_clears_what_was_due() -> None:
    thread = received(accepted(parked(), "m2"))
    assert signals(thread) == []
    assert_watched(due_at(thread, NOW))


def assert_watched(due: float | None) -> None:
    assert due is not None
    assert NOW + WATCHDOG_SECONDS <= due < NOW + WATCHDOG_SECONDS + WATCHDOG_STEP


def test_a_watched_run_changes_its_place_in_the_index_seldom() -> None:
    thread = in_a_turn()
    assert len({due_at(thread, NOW + second) for second in range(int(WATCHDOG_STEP))}) <= 2


def test_handing_over_leaves_the_next_run_to_be_started() -> None:
    thread = finished(in_a_turn())
    assert [
        signal.name
        for signal in signals(hand_over(thread, thread.run_id, TERMS, NOW))
        if isinstance(signal, StartRun)
    ] == ["thread-2-1"]


def test_a_new_attempt_is_an_execution_of_another_name() -> None:
    thread = in_a_turn()
    again = signals(new_attempt(thread, thread.run_id))
    assert [signal.name for signal in again if isinstance(signal, StartRun)] == ["thread-1-2"]


def test_every_decided_proposal_that_still_waits_is_signalled() -> None:
    thread = proposed(proposed(proposed(in_a_turn()), "p2"), "p3")
    assert signals(thread) == []
    thread = decide(thread, "p2", Outcome.APPROVED, decision=None, now=NOW)
    assert signals(thread) == [WakeToken("token-of-p2")]
    assert due_at(thread, NOW) == SOON
    taken = take_decision(thread, thread.run_id, "p2", now=NOW)
    assert signals(taken) == []
    assert signals(cancel(taken, now=NOW)) == [WakeToken("token-of-p1"), WakeToken("token-of-p3")]


def test_a_run_that_waits_for_a_person_is_left_alone_until_the_last_expiry() -> None:
    thread = proposed(proposed(in_a_turn(), expires_at=NOW + 5_000), "p2", expires_at=NOW + 90_000)
    due = due_at(thread, NOW)
    assert due is not None
    assert due > NOW + 90_000


def test_an_expiry_within_the_watchdogs_time_does_not_hurry_it() -> None:
    assert_watched(due_at(proposed(in_a_turn(), expires_at=NOW + 1), NOW))


def test_the_aggregate_reads_back_as_it_was_written() -> None:
    thread = accepted(decide(proposed(in_a_turn()), "p1", Outcome.APPROVED, decision="d", now=NOW), "m2")
    assert Conversation.model_validate_json(thread.model_dump_json()) == thread


def test_an_aggregate_of_a_newer_release_can_be_read() -> None:
    text = parked().model_dump_json().replace('"thread_id"', '"of_a_newer_release":1,"thread_id"', 1)
    assert Conversation.model_validate_json(text) == parked()


def test_a_full_aggregate_stays_small() -> None:
    thread = in_a_turn(title="x" * 200).but(summary="x" * 2000)
    for number in range(20):
        thread = accepted(thread, f"{number:036d}")
    for number in range(40):
        thread = proposed(thread, f"{number:036d}", thread_id="t" * 36)
    long_tokens = tuple(
        entry.but(token="t" * 900, decision="d" * 90, outcome=Outcome.APPROVED) for entry in thread.proposals
    )
    assert len(thread.but(proposals=long_tokens).model_dump_json()) < 60_000
