"""Closing a turn, however it ended: open calls answered, proposals settled, the aggregate freed."""

from __future__ import annotations

from parley.domain import keys
from parley.domain.conversation import Conversation
from parley.domain.decisions import withdraw
from parley.domain.messages import Message
from parley.domain.proposals import Outcome
from parley.domain.protocol import finish_turn, should_hand_over
from parley.domain.summary import rolled
from parley.turns import conversations
from parley.turns.calls import decision_of, read_proposal, settle
from parley.turns.event_log import EventLog
from parley.turns.moderation import is_refusal
from parley.turns.records import Stored, load
from parley.turns.runtime import Runtime
from parley.turns.task import Scope, Task


def reply_ref(thread_id: str, turn: int) -> str:
    """The reference of a turn's reply: its last assistant's message, which has one deterministic key."""
    return f"{thread_id}/{turn}"


def withdraw_proposals(runtime: Runtime, task: Task, scope: Scope) -> Stored[Conversation]:
    """Nothing of the turn can be approved from here on. Nothing is written if nothing waits."""
    run_id, turn = task.run.run_id, scope.conversation.turn
    return conversations.change_stored(
        runtime,
        run_id.thread_id,
        lambda c: withdraw(c, run_id, turn, scope.thread_id, now=runtime.clock.now()),
        known=scope.stored,
    )


def settle_proposals(runtime: Runtime, conversation: Conversation) -> None:
    """Complete the records of the turn's proposals before the aggregate forgets them."""
    for entry in conversation.proposals:
        stored = read_proposal(runtime, entry.proposal_id)
        if stored is not None and stored.value.decision is None:
            outcome = entry.outcome or Outcome.CANCELLED
            settle(runtime, stored, decision_of(runtime, conversation.thread_id, outcome, entry.decision))


def finish(runtime: Runtime, task: Task, scope: Scope, log: EventLog, reply: Message | None) -> Conversation:
    """The save that ends the root's turn."""
    stored = withdraw_proposals(runtime, task, scope)
    settle_proposals(runtime, stored.value)
    run_id, turn = task.run.run_id, scope.turn
    conversation = scope.conversation
    ref = reply_ref(conversation.thread_id, scope.turn) if reply else None
    summary = conversation.summary
    if reply and not is_refusal(reply):
        asked = load(runtime, scope.partition, keys.message(scope.thread_id, scope.turn, 0), Message)
        summary = rolled(summary, asked.value.content if asked else "", reply.content)
    now = runtime.clock.now()
    return conversations.change(
        runtime,
        run_id.thread_id,
        lambda c: finish_turn(
            c, run_id, turn, reply_ref=ref, summary=summary, last_seq=log.last_seq, now=now
        ),
        known=stored,
    )


def after_turn(conversation: Conversation) -> str:
    """The state that follows a closed turn."""
    return "ContinueAsNew" if should_hand_over(conversation) else "ReceiveMessage"
