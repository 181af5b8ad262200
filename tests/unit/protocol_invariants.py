"""What holds of a thread whatever moves it made."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis.stateful import RuleBasedStateMachine, invariant

from parley.domain.conversation import (
    Conversation,
    Phase,
    RunStatus,
    due_at,
    signals,
)
from parley.domain.patience import waits_in_vain
from parley.domain.proposals import Outcome
from tests.support.threads import NOW


@dataclass
class Known:
    """What has happened, told without the protocol: accepted and finished messages, first outcomes."""

    accepted: list[str] = field(default_factory=lambda: ["m1"])
    finished: list[str] = field(default_factory=list)
    outcomes: dict[tuple[int, str], Outcome] = field(default_factory=dict)
    promised: bool = False
    over: list[tuple[int, str]] = field(default_factory=list)
    ended: bool = False


class Invariants(RuleBasedStateMachine):
    """``thread`` as it stands, and what is ``known`` of it."""

    def __init__(self, thread: Conversation) -> None:
        super().__init__()
        self.now = NOW
        self.thread = thread
        self.known = Known()

    @invariant()
    def no_message_is_lost_doubled_or_overtaken(self) -> None:
        claimed = [self.thread.run.message_id] if self.thread.run.message_id else []
        assert self.known.finished + claimed + list(self.thread.inbox) == self.known.accepted

    @invariant()
    def turns_are_counted_and_open_only_for_a_claimed_message(self) -> None:
        assert self.thread.turns <= len(self.known.finished) <= self.thread.turns + 1
        if self.thread.turn is not None:
            assert self.thread.turn == self.thread.turns + 1
            assert self.thread.run.message_id
        assert self.thread.run.turns <= self.thread.turns

    @invariant()
    def proposals_and_cancels_belong_to_a_claimed_message(self) -> None:
        if self.thread.phase is not Phase.COMPLETED and not self.thread.run.message_id:
            assert not self.thread.cancelled
            assert not self.thread.proposals

    @invariant()
    def a_waiting_message_always_has_a_run_that_will_take_it(self) -> None:
        run = self.thread.run
        if run.status is RunStatus.CLOSED:
            assert not run.message_id
            assert not self.thread.inbox
        if run.status is RunStatus.PARKED and self.thread.inbox:
            assert run.message_id

    @invariant()
    def repair_looks_at_whatever_works_or_waits_for_a_signal(self) -> None:
        run = self.thread.run
        active = run.status in (RunStatus.STARTING, RunStatus.RUNNING)
        due = due_at(self.thread, self.now)
        owes = bool(signals(self.thread) or self.thread.untold)
        assert (due is not None) == (active or owes)
        assert due is None or due > self.now
        if run.status is RunStatus.PARKED and run.message_id:
            assert signals(self.thread)

    @invariant()
    def every_run_before_this_one_ended_once_in_some_way(self) -> None:
        closed = self.thread.run.status is RunStatus.CLOSED
        assert [number for number, _ in self.known.over] == list(
            range(1, self.thread.run.generation + closed)
        )

    @invariant()
    def a_promised_cancel_stands_until_the_turn_ends(self) -> None:
        assert self.thread.cancelled == self.known.promised

    @invariant()
    def nobody_waits_for_a_provider_between_turns(self) -> None:
        assert self.thread.turn or not waits_in_vain(self.thread, self.now)

    @invariant()
    def the_end_is_the_last_message(self) -> None:
        assert self.thread.ending == self.known.ended
