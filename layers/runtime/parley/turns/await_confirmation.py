"""AwaitConfirmation: record the proposal, show it, wait on the task token."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.conversation import OpenProposal
from parley.domain.decisions import propose
from parley.domain.events import EventName
from parley.domain.messages import Message, MessageKind
from parley.domain.proposals import Proposal
from parley.prompts.question import confirmation_question
from parley.turns import conversations, history
from parley.turns.calls import OpenCall, open_call, read_proposal
from parley.turns.invoke_model import EXPIRY_MARGIN
from parley.turns.ports import ConditionFailed, IndexKey
from parley.turns.records import put
from parley.turns.runtime import Runtime
from parley.turns.task import Task, open_log


def await_confirmation(runtime: Runtime, task: Task) -> dict[str, Any]:
    """The proposal's record first, then the aggregate with the token, then the events.

    A call that an earlier attempt answered, if only as failed, is not proposed again.
    """
    opened = open_call(runtime, task)
    if task.rerun and history.call_response(runtime, opened.scope, opened.step, opened.index):
        runtime.orchestrator.wake(task.token or "")
        return {}
    proposal, entered_again = _record(runtime, opened, task.call.timeout_seconds - EXPIRY_MARGIN)
    log = open_log(runtime, task, opened.scope, rerun=entered_again)
    run_id = task.run.run_id
    entry = OpenProposal(
        proposal_id=proposal.proposal_id,
        thread_id=proposal.thread_id,
        tool_call_id=proposal.tool_call_id,
        token=task.token,
        expires_at=proposal.expires_at,
    )
    turn = opened.scope.conversation.turn
    conversation = conversations.change(
        runtime, run_id.thread_id, lambda c: propose(c, run_id, turn, entry), known=opened.scope.stored
    )
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
    current = conversation.proposal(proposal.proposal_id)
    over = runtime.clock.now() >= proposal.expires_at
    if current and (current.outcome or over) and task.token:
        runtime.orchestrator.wake(task.token)
    return {}


def _record(runtime: Runtime, opened: OpenCall, seconds: int) -> tuple[Proposal, bool]:
    """The proposal as it was first recorded, and whether that was earlier.

    Its expiry counts from the reply that asked for it: it does not move when this state runs again, and the
    timer, which starts later, cannot fire before it.
    """
    scope, call, function = opened.scope, opened.call, opened.function
    now = runtime.clock.now()
    conversation = scope.conversation
    proposal = Proposal(
        proposal_id=opened.proposal_id,
        root_thread_id=conversation.thread_id,
        thread_id=scope.thread_id,
        project_id=conversation.project_id,
        user_id=conversation.user_id,
        agent_id=scope.agent_id,
        turn=scope.turn,
        step=opened.step,
        call=opened.index,
        tool_call_id=call.tool_call_id,
        name=call.name,
        arguments=call.arguments,
        question=confirmation_question(
            function.confirmation_question if function else None, call.name, call.arguments
        ),
        created_at=now,
        expires_at=opened.message.timestamp + seconds,
    )
    listed = IndexKey(keys.listed_proposals(proposal.project_id), conversations.sortable(now))
    try:
        put(
            runtime,
            keys.proposal_partition(proposal.proposal_id),
            keys.PROPOSAL,
            proposal,
            if_version=0,
            listed=listed,
        )
    except ConditionFailed:
        known = read_proposal(runtime, proposal.proposal_id)
        return known.value if known else proposal, True
    return proposal, False


def _show(runtime: Runtime, opened: OpenCall, proposal: Proposal) -> None:
    """The PENDING_USER_CONFIRMATION message in the thread."""
    scope = opened.scope
    message = Message(
        id=proposal.proposal_id,
        kind=MessageKind.PENDING_USER_CONFIRMATION,
        role="system",
        content=proposal.question,
        timestamp=proposal.created_at,
        turn=scope.turn,
        step=opened.step,
        call=opened.index,
        metadata={
            "proposal_id": proposal.proposal_id,
            "tool_call_id": proposal.tool_call_id,
            "name": proposal.name,
            "arguments": proposal.arguments,
            "expires_at": proposal.expires_at,
            "thread_id": proposal.thread_id,
        },
    )
    sort = keys.call_message(scope.thread_id, scope.turn, opened.step, opened.index, keys.PENDING)
    history.record(runtime, scope, sort, message)
