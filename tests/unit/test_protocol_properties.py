"""The protocol under any sequence of moves, by whichever run and attempt, in whatever order."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from parley.domain.conversation import (
    QUEUE_LIMIT,
    Conversation,
    OpenProposal,
    Phase,
    RunId,
    RunStatus,
    RunTerms,
)
from parley.domain.decisions import decide, propose, register, take_decision, withdraw
from parley.domain.errors import Conflict, StaleRun, TooManyQueued
from parley.domain.patience import pause
from parley.domain.proposals import Outcome
from parley.domain.protocol import (
    accept,
    begin_recording,
    cancel,
    close_run,
    complete,
    finish_turn,
    hand_over,
    new_attempt,
    open_turn,
    receive,
    should_hand_over,
    told,
)
from tests.support.threads import a_new_thread
from tests.unit.protocol_invariants import Invariants

TERMS = RunTerms(turns_per_run=2, inactivity_seconds=60)
PROPOSALS = st.sampled_from(["p1", "p2", "p3"])
SECONDS = st.floats(0, 30)


class Protocol(Invariants):
    """``run`` is who acts: the run that may, or a former one, which must never get anywhere."""

    def __init__(self) -> None:
        super().__init__(a_new_thread(terms=TERMS))
        self.former: list[RunId] = []

    def by(self, move: Any, stale: bool) -> None:
        """Make a run's move. A stale one changes nothing."""
        run_id = self.former[-1] if stale and self.former else self.thread.run_id
        before = self.thread
        try:
            self.change(move(before, run_id))
        except StaleRun:
            assert run_id != before.run_id or before.run.status is RunStatus.CLOSED
        else:
            assert run_id == before.run_id

    def change(self, changed: Conversation) -> None:
        if changed.run_id != self.thread.run_id:
            self.former.append(self.thread.run_id)
        self.known.over += [
            (over.generation, over.status) for over in changed.untold if over not in self.thread.untold
        ]
        self.thread = changed
        for entry in changed.proposals:
            if entry.outcome is not None:
                key = (changed.turn or 0, entry.proposal_id)
                assert self.known.outcomes.setdefault(key, entry.outcome) is entry.outcome

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(policy=st.sampled_from(["supersede", "queue", "reject"]))
    def the_agent_is_changed(self, policy: Any) -> None:
        self.thread = self.thread.but(on_message_while_pending=policy)

    @rule(repeated=st.booleans(), ending=st.sampled_from([False] * 9 + [True]))
    def a_person_writes(self, repeated: bool, ending: bool) -> None:
        message_id = f"m{len(self.known.accepted) + (not repeated)}"
        waiting = {self.thread.run.message_id, *self.thread.inbox}
        if repeated and message_id not in waiting:
            return  # an answered one is known by its marker, not by the aggregate
        try:
            changed = accept(self.thread, message_id, terms=TERMS, ending=ending, now=self.now)
        except (Conflict, TooManyQueued):
            full = len(self.thread.inbox) == QUEUE_LIMIT
            assert full or self.thread.ending or self.thread.on_message_while_pending == "reject"
            return
        assert (changed is self.thread) == (message_id in waiting)
        if message_id not in waiting:
            self.known.accepted.append(message_id)
            self.known.ended = ending
        self.change(changed)

    @rule(stale=st.booleans())
    def receive_message(self, stale: bool) -> None:
        def move(thread: Conversation, run_id: RunId) -> Conversation:
            changed = receive(thread, run_id, "token")
            parked = changed.run.status is RunStatus.PARKED
            assert parked == (changed.run.message_id is None)
            assert not (parked and changed.inbox)
            return changed

        self.by(move, stale)

    @precondition(lambda self: self.thread.run.message_id)
    @rule(stale=st.booleans())
    def build_prompt(self, stale: bool) -> None:
        message_id = self.thread.run.message_id or ""
        policy = self.thread.on_message_while_pending
        self.by(
            lambda c, run: open_turn(c, run, message_id, last_seq=0, policy=policy, propose_actions=None),
            stale,
        )

    @rule()
    def a_given_up_task_opens_its_turn(self) -> None:
        if self.known.finished and self.thread.run.status is not RunStatus.CLOSED:
            try:
                open_turn(
                    self.thread,
                    self.thread.run_id,
                    self.known.finished[-1],
                    last_seq=0,
                    policy="queue",
                    propose_actions=None,
                )
            except StaleRun:
                return
            raise AssertionError("a message was opened twice")

    @precondition(lambda self: self.thread.turn)
    @rule(proposals=st.sets(PROPOSALS), lasts=SECONDS, stale=st.booleans())
    def invoke_model(self, proposals: set[str], lasts: float, stale: bool) -> None:
        """Its reply asks for several actions."""
        entries = [
            OpenProposal(
                proposal_id=each, thread_id="thread", tool_call_id="call", expires_at=self.now + lasts
            )
            for each in sorted(proposals)
        ]
        self.by(lambda c, run: register(c, run, c.turn, entries), stale)
        if not stale:
            assert all(self.thread.proposal(each) for each in proposals)

    @precondition(lambda self: self.thread.turn)
    @rule(lasts=SECONDS, stale=st.booleans())
    def the_provider_asks_for_time(self, lasts: float, stale: bool) -> None:
        self.by(lambda c, run: pause(c, run, self.now + lasts), stale)

    @precondition(lambda self: self.thread.turn)
    @rule(proposal_id=PROPOSALS, lasts=SECONDS, stale=st.booleans())
    def await_confirmation(self, proposal_id: str, lasts: float, stale: bool) -> None:
        entry = OpenProposal(
            proposal_id=proposal_id,
            thread_id="thread",
            tool_call_id="call",
            token=f"token {proposal_id}",
            expires_at=self.now + lasts,
        )
        self.by(lambda c, run: propose(c, run, c.turn, entry), stale)

    @rule(proposal_id=PROPOSALS, outcome=st.sampled_from([Outcome.APPROVED, Outcome.DECLINED]))
    def a_person_decides(self, proposal_id: str, outcome: Outcome) -> None:
        entry = self.thread.proposal(proposal_id)
        changed = decide(self.thread, proposal_id, outcome, decision="d", now=self.now)
        assert (changed is self.thread) == (entry is None or entry.outcome is not None)
        decided = changed.proposal(proposal_id)
        if entry and decided and entry.outcome is None:
            assert (decided.outcome is Outcome.EXPIRED) == (self.now >= entry.expires_at)
        self.change(changed)

    @rule(proposal_id=PROPOSALS, stale=st.booleans())
    def run_tool(self, proposal_id: str, stale: bool) -> None:
        self.by(lambda c, run: take_decision(c, run, proposal_id, now=self.now), stale)

    @rule()
    def a_person_cancels(self) -> None:
        before = self.thread
        changed = cancel(before, now=self.now)
        ends = before.ending and not before.inbox
        recording = before.phase is Phase.RECORDING_REPLY
        may = before.run.message_id is not None and not ends and not recording
        assert changed.cancelled == (may or before.cancelled)
        self.known.promised = changed.cancelled
        self.change(changed)

    @precondition(lambda self: self.thread.turn)
    @rule(stale=st.booleans(), off=st.sampled_from([0, 0, 0, -1]))
    def record_reply(self, stale: bool, off: int) -> None:
        message_id, turn = self.thread.run.message_id, (self.thread.turn or 0) + off

        def move(thread: Conversation, run_id: RunId) -> Conversation:
            thread = begin_recording(thread, run_id, turn)
            assert thread.cancelled == self.known.promised, "the end is what was promised"
            withdrawn = withdraw(thread, run_id, turn, "thread", now=self.now)
            return finish_turn(withdrawn, run_id, turn, reply_ref="r", summary="", last_seq=0, now=self.now)

        before = self.thread
        self.by(move, stale)
        if self.thread.turns > before.turns:
            assert off == 0
            self.known.promised = False
            self.known.finished.append(str(message_id))
            self.known.ended = self.known.ended and bool(self.thread.inbox)
        elif off:
            assert self.thread is before

    @precondition(lambda self: self.thread.turn)
    @rule(stale=st.booleans())
    def the_worker_dies_while_it_records(self, stale: bool) -> None:
        turn = self.thread.turn or 0
        self.by(lambda c, run: begin_recording(c, run, turn), stale)

    @rule(last_seq=st.integers(0, 50))
    def somebody_tells_what_is_owed(self, last_seq: int) -> None:
        before = self.thread
        self.change(told(before, before.untold, last_seq))
        assert self.thread.untold == ()
        assert self.thread.last_seq >= before.last_seq

    @precondition(lambda self: should_hand_over(self.thread) and self.thread.run.status is RunStatus.RUNNING)
    @rule(stale=st.booleans())
    def continue_as_new(self, stale: bool) -> None:
        self.by(lambda c, run: hand_over(c, run, TERMS, self.now), stale)

    @rule(stale=st.booleans())
    def the_inactivity_time_is_over(self, stale: bool) -> None:
        self.by(lambda c, run: close_run(c, run, self.now), stale)

    @precondition(lambda self: self.thread.ending and not self.thread.inbox and self.thread.turn is None)
    @rule(stale=st.booleans())
    def complete_conversation(self, stale: bool) -> None:
        message_id = self.thread.run.message_id
        if message_id is None:
            return
        self.by(lambda c, run: complete(c, run, now=self.now), stale)
        if self.thread.phase is Phase.COMPLETED:
            self.known.finished.append(message_id)

    @rule(stale=st.booleans())
    def an_execution_is_found_dead(self, stale: bool) -> None:
        dead = self.former[-1] if stale and self.former else self.thread.run_id
        changed = new_attempt(self.thread, dead)
        over = dead != self.thread.run_id or self.thread.run.status is RunStatus.CLOSED
        assert (changed is self.thread) == over
        self.change(changed)


TestProtocol = Protocol.TestCase
TestProtocol.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
