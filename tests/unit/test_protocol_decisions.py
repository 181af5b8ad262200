"""The thread protocol, rule by rule: proposals and what becomes of them."""

from __future__ import annotations

import pytest

from parley.domain.conversation import OpenProposal, Phase
from parley.domain.decisions import (
    close_call,
    decide,
    propose,
    register,
    supersede,
    take_decision,
    undecided,
    withdraw,
)
from parley.domain.errors import Conflict, StaleRun
from parley.domain.proposals import Outcome
from parley.domain.protocol import cancel, new_attempt
from tests.support.threads import NOW, accepted, finished, in_a_turn, opened, proposed, received

LATE = NOW + 100


def outcomes(thread) -> dict[str, Outcome | None]:
    return {entry.proposal_id: entry.outcome for entry in thread.proposals}


def decided(thread, proposal_id: str = "p1", outcome: Outcome = Outcome.APPROVED, now: float = NOW):
    return decide(thread, proposal_id, outcome, decision="body", now=now)


def test_a_proposal_waits_on_its_token() -> None:
    thread = proposed(in_a_turn())
    assert outcomes(thread) == {"p1": None}
    assert thread.proposals[0].token == "token-of-p1"
    assert thread.phase is Phase.AWAITING_APPROVAL


def test_a_proposal_entered_again_waits_on_the_new_token() -> None:
    thread = proposed(in_a_turn())
    entry = thread.proposals[0].but(token="fresh")
    again = propose(thread, thread.run_id, thread.turn, entry)
    assert [proposal.token for proposal in again.proposals] == ["fresh"]


def test_a_proposal_entered_again_keeps_its_first_expiry_and_its_decision() -> None:
    thread = decided(proposed(in_a_turn()))
    entry = OpenProposal(
        proposal_id="p1", thread_id="thread", tool_call_id="call-p1", token="fresh", expires_at=NOW + 999
    )
    again = propose(thread, thread.run_id, thread.turn, entry)
    assert again.proposals[0].outcome is Outcome.APPROVED
    assert again.proposals[0].decision == "body"
    assert again.proposals[0].expires_at == LATE
    assert again.proposals[0].token == "fresh"


def test_the_proposals_of_a_reply_are_registered_together() -> None:
    thread = in_a_turn()
    entries = [entry.but(token=None) for entry in proposed(proposed(in_a_turn()), "p2").proposals]
    both = register(thread, thread.run_id, 1, entries)
    assert outcomes(both) == {"p1": None, "p2": None}
    assert both.phase is Phase.AWAITING_APPROVAL
    assert outcomes(accepted(both, "m2")) == {"p1": Outcome.SUPERSEDED, "p2": Outcome.SUPERSEDED}


def test_proposals_registered_again_keep_their_tokens_and_decisions() -> None:
    thread = decided(proposed(proposed(in_a_turn()), "p2"))
    again = register(thread, thread.run_id, 1, [entry.but(token=None) for entry in thread.proposals])
    assert again.proposals == thread.proposals


def test_a_reply_without_proposals_leaves_the_phase_alone() -> None:
    thread = in_a_turn()
    assert register(thread, thread.run_id, 1, []).phase is Phase.THINKING


def test_a_proposal_is_waited_for_by_the_latest_task_only() -> None:
    thread = in_a_turn()
    entry = OpenProposal(proposal_id="p1", thread_id="thread", tool_call_id="call", expires_at=LATE)
    second = entry.but(token="second", order="2026-11-30T19:00:00.000Z#001")
    waiting = propose(thread, thread.run_id, 1, second)
    with pytest.raises(StaleRun):
        propose(waiting, waiting.run_id, 1, second.but(token="first", order="2026-11-30T19:00:00.000Z#000"))
    third = second.but(token="third", order="2026-12-01T19:00:00.000Z#000")
    assert propose(waiting, waiting.run_id, 1, third).proposals[0].token == "third"


def test_a_proposal_may_be_decided_a_moment_before_it_is_registered() -> None:
    thread = in_a_turn()
    early = OpenProposal(proposal_id="p1", thread_id="thread", tool_call_id="call", expires_at=LATE)
    done = decide(thread, "p1", Outcome.APPROVED, decision="body", now=NOW, early=early)
    assert outcomes(done) == {"p1": Outcome.APPROVED}
    registered = register(done, done.run_id, 1, [early])
    assert registered.proposals == done.proposals
    assert registered.phase is Phase.THINKING
    too_late = decide(cancel(thread, now=NOW), "p1", Outcome.APPROVED, decision="b", now=NOW, early=early)
    assert outcomes(too_late) == {"p1": Outcome.CANCELLED}


def test_a_proposal_of_a_cancelled_turn_is_decided_before_anybody_sees_it() -> None:
    assert outcomes(proposed(cancel(in_a_turn(), now=NOW))) == {"p1": Outcome.CANCELLED}


def test_a_task_that_was_given_up_cannot_propose_in_a_later_turn() -> None:
    second = opened(received(finished(accepted(in_a_turn(), "m2"))))
    entry = OpenProposal(proposal_id="p1", thread_id="thread", tool_call_id="call", expires_at=LATE)
    with pytest.raises(StaleRun):
        propose(second, second.run_id, 1, entry)


@pytest.mark.parametrize("outcome", [Outcome.APPROVED, Outcome.DECLINED])
def test_a_decision_in_time_counts(outcome: Outcome) -> None:
    thread = decided(proposed(in_a_turn()), outcome=outcome)
    assert thread.proposals[0].outcome is outcome
    assert thread.proposals[0].decision == "body"
    assert thread.proposals[0].token == "token-of-p1"


def test_a_second_decision_changes_nothing() -> None:
    thread = decided(proposed(in_a_turn()))
    assert decided(thread, outcome=Outcome.DECLINED) is thread


def test_an_unknown_proposal_cannot_be_decided() -> None:
    thread = proposed(in_a_turn())
    assert decided(thread, "p9") is thread


def test_a_decision_at_the_instant_of_expiry_is_too_late() -> None:
    thread = decided(proposed(in_a_turn()), now=LATE)
    assert thread.proposals[0].outcome is Outcome.EXPIRED
    assert thread.proposals[0].decision is None


def test_of_two_proposals_only_the_one_that_was_named_is_decided() -> None:
    thread = decided(proposed(proposed(in_a_turn()), "p2"), "p2")
    assert outcomes(thread) == {"p1": None, "p2": Outcome.APPROVED}


def test_the_woken_call_takes_its_decision_and_uses_up_the_token() -> None:
    thread = decided(proposed(in_a_turn()))
    taken = take_decision(thread, thread.run_id, "p1", now=NOW)
    assert taken.proposals[0].token is None
    assert taken.proposals[0].outcome is Outcome.APPROVED
    assert taken.phase is Phase.APPLYING_ACTION


def test_a_call_woken_before_its_decision_waits_again() -> None:
    thread = proposed(in_a_turn())
    assert take_decision(thread, thread.run_id, "p1", now=LATE - 1) is thread


def test_a_call_whose_timer_fired_after_the_expiry_finds_it_expired() -> None:
    thread = proposed(in_a_turn())
    taken = take_decision(thread, thread.run_id, "p1", now=LATE)
    assert outcomes(taken) == {"p1": Outcome.EXPIRED}
    assert taken.phase is Phase.AWAITING_APPROVAL


def test_a_decision_that_was_in_time_counts_though_it_is_taken_late() -> None:
    thread = decided(proposed(in_a_turn()))
    assert outcomes(take_decision(thread, thread.run_id, "p1", now=LATE + 50)) == {"p1": Outcome.APPROVED}


def test_the_thread_still_awaits_approval_while_another_proposal_waits() -> None:
    thread = decided(proposed(proposed(in_a_turn()), "p2"))
    assert take_decision(thread, thread.run_id, "p1", now=NOW).phase is Phase.AWAITING_APPROVAL


def test_a_new_message_supersedes_every_open_proposal_of_the_tree() -> None:
    thread = proposed(proposed(in_a_turn()), "p2", thread_id="a subthread")
    assert outcomes(accepted(thread, "m2")) == {"p1": Outcome.SUPERSEDED, "p2": Outcome.SUPERSEDED}


def test_a_new_message_leaves_what_was_decided_before() -> None:
    thread = decided(proposed(proposed(in_a_turn()), "p2"))
    assert outcomes(accepted(thread, "m2")) == {"p1": Outcome.APPROVED, "p2": Outcome.SUPERSEDED}


def test_an_approval_behind_the_message_that_superseded_it_changes_nothing() -> None:
    thread = accepted(proposed(in_a_turn()), "m2")
    assert decided(thread) is thread


def test_what_expired_before_the_new_message_came_is_expired_and_not_superseded() -> None:
    assert outcomes(accepted(proposed(in_a_turn()), "m2", now=LATE)) == {"p1": Outcome.EXPIRED}


def test_a_repeated_message_supersedes_nothing() -> None:
    thread = proposed(accepted(in_a_turn(), "m2"))
    assert accepted(thread, "m2") is thread


def test_an_agent_may_let_messages_wait_behind_a_proposal() -> None:
    thread = proposed(in_a_turn(policy="queue"))
    queued = accepted(thread, "m2")
    assert outcomes(queued) == {"p1": None}
    assert queued.inbox == ("m2",)


def test_an_agent_may_refuse_messages_while_a_proposal_waits() -> None:
    thread = proposed(in_a_turn(policy="reject"))
    with pytest.raises(Conflict) as refused:
        accepted(thread, "m2")
    assert refused.value.type == "confirmation_pending"
    assert refused.value.details == {"proposal_ids": ["p1"]}


def test_a_proposal_that_is_over_keeps_no_message_out() -> None:
    thread = proposed(in_a_turn(policy="reject"))
    assert accepted(decided(thread), "m2").inbox == ("m2",)
    assert accepted(thread, "m2", now=LATE).inbox == ("m2",)


def test_without_proposals_there_is_nothing_to_supersede() -> None:
    thread = in_a_turn()
    assert supersede(thread, NOW) is thread


def test_cancel_decides_every_open_proposal() -> None:
    thread = cancel(decided(proposed(proposed(in_a_turn()), "p2")), now=NOW)
    assert outcomes(thread) == {"p1": Outcome.APPROVED, "p2": Outcome.CANCELLED}


def test_what_expired_before_the_cancel_is_expired() -> None:
    assert outcomes(cancel(proposed(in_a_turn()), now=LATE)) == {"p1": Outcome.EXPIRED}


def test_the_next_attempt_keeps_decisions_and_forgets_tokens() -> None:
    thread = decided(proposed(proposed(in_a_turn()), "p2"))
    again = new_attempt(thread, thread.run_id)
    assert outcomes(again) == {"p1": Outcome.APPROVED, "p2": None}
    assert [entry.token for entry in again.proposals] == [None, None]


def test_the_end_of_the_roots_turn_withdraws_everything() -> None:
    thread = proposed(decided(proposed(in_a_turn())), "p2", thread_id="a subthread")
    thread = withdraw(thread, thread.run_id, 1, "thread", now=NOW)
    assert outcomes(thread) == {"p1": Outcome.APPROVED, "p2": Outcome.CANCELLED}
    assert withdraw(thread, thread.run_id, 1, "thread", now=NOW) is thread


def test_the_end_of_a_subthread_withdraws_what_is_its_own() -> None:
    thread = proposed(proposed(in_a_turn()), "p2", thread_id="a subthread")
    thread = withdraw(thread, thread.run_id, 1, "a subthread", now=NOW)
    assert [entry.proposal_id for entry in undecided(thread)] == ["p1"]


def test_a_call_that_was_answered_without_a_decision_cannot_be_approved() -> None:
    thread = proposed(proposed(in_a_turn()), "p2")
    thread = close_call(thread, thread.run_id, "p1", now=NOW)
    assert outcomes(thread) == {"p1": Outcome.CANCELLED, "p2": None}
    assert thread.proposals[0].token is None
    assert decided(thread) is thread
    assert close_call(thread, thread.run_id, "p1", now=NOW) is thread


def test_a_call_that_failed_after_its_decision_keeps_it_and_waits_no_more() -> None:
    thread = decided(proposed(in_a_turn()))
    closed = close_call(thread, thread.run_id, "p1", now=NOW)
    assert outcomes(closed) == {"p1": Outcome.APPROVED}
    assert closed.proposals[0].token is None


def test_a_call_without_a_proposal_has_nothing_to_close() -> None:
    thread = in_a_turn()
    assert close_call(thread, thread.run_id, "p1", now=NOW) is thread


def test_a_task_that_was_given_up_withdraws_nothing_of_a_later_turn() -> None:
    second = proposed(opened(received(finished(accepted(in_a_turn(), "m2")))))
    assert withdraw(second, second.run_id, 1, "thread", now=NOW) is second


@pytest.mark.parametrize("attempt", [0, 2])
def test_another_attempt_neither_proposes_nor_takes_nor_withdraws(attempt: int) -> None:
    thread = proposed(in_a_turn())
    stale = thread.run_id._replace(attempt=attempt)
    with pytest.raises(StaleRun):
        propose(thread, stale, thread.turn, thread.proposals[0])
    with pytest.raises(StaleRun):
        take_decision(thread, stale, "p1", now=NOW)
    with pytest.raises(StaleRun):
        withdraw(thread, stale, thread.turn, "thread", now=NOW)
