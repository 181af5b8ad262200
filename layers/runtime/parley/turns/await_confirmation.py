"""AwaitConfirmation: record the proposal, show it, wait on the task token."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.decisions import propose
from parley.domain.events import EventName
from parley.domain.messages import MessageKind
from parley.domain.proposals import Proposal
from parley.turns import conversations, history
from parley.turns.calls import EXPIRY_MARGIN, OpenCall, open_call, read_proposal
from parley.turns.proposing import open_proposal, record_proposal
from parley.turns.runtime import Runtime
from parley.turns.task import Task, open_log


def await_confirmation(runtime: Runtime, task: Task) -> dict[str, Any]:
    """The message and the event, then the token into the aggregate: whoever can wake this call has been shown all.

    The proposal was recorded with the reply. A call that an earlier attempt answered, if only as failed, is not
    proposed again.
    """
    opened = open_call(runtime, task)
    if task.rerun and history.call_response(runtime, opened.scope, opened.step, opened.index):
        runtime.orchestrator.wake(task.token or "")
        return {}
    proposal = _proposal(runtime, task, opened)
    log = open_log(runtime, task, opened.scope)
    _show(runtime, opened, proposal)
    log.append(
        opened.event(
            EventName.ActionRequiresConfirmation,
            "proposed",
            proposal_id=proposal.proposal_id,
            tool_call_id=proposal.tool_call_id,
            name=proposal.name,
            arguments=proposal.arguments,
            question=proposal.question,
            expires_at=proposal.expires_at,
        )
    )
    run_id = task.run.run_id
    entry = open_proposal(proposal, task.token, task.order)
    entry = entry.but(shown_seq=log.last_seq, shown_at=runtime.clock.now())
    turn = opened.scope.conversation.turn
    conversation = conversations.change(
        runtime, run_id.thread_id, lambda c: propose(c, run_id, turn, entry), known=opened.scope.stored
    )
    current = conversation.proposal(proposal.proposal_id)
    over = runtime.clock.now() >= proposal.expires_at
    if current and (current.outcome or over) and task.token:
        runtime.orchestrator.wake(task.token)
    return {}


def _proposal(runtime: Runtime, task: Task, opened: OpenCall) -> Proposal:
    """As it was recorded with the reply; an execution that began with an earlier version did not."""
    stored = read_proposal(runtime, opened.proposal_id)
    if stored is not None:
        return stored.value
    return record_proposal(runtime, opened, task.call.timeout_seconds - EXPIRY_MARGIN)


def _show(runtime: Runtime, opened: OpenCall, proposal: Proposal) -> None:
    """The PENDING_USER_CONFIRMATION message in the thread."""
    message = opened.note(
        MessageKind.PENDING_USER_CONFIRMATION,
        id=proposal.proposal_id,
        role="system",
        content=proposal.question,
        timestamp=proposal.created_at,
        metadata={
            "proposal_id": proposal.proposal_id,
            "tool_call_id": proposal.tool_call_id,
            "name": proposal.name,
            "arguments": proposal.arguments,
            "expires_at": proposal.expires_at,
            "thread_id": proposal.thread_id,
        },
    )
    history.record(runtime, opened.scope, opened.key(keys.PENDING), message)
