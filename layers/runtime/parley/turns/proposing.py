"""Proposals of a reply: recorded before anything is shown, registered in the aggregate all at once."""

from __future__ import annotations

from parley.domain import keys
from parley.domain.conversation import OpenProposal
from parley.domain.proposals import Proposal
from parley.prompts.question import confirmation_question
from parley.turns import conversations
from parley.turns.calls import OpenCall
from parley.turns.ports import ConditionFailed, IndexKey
from parley.turns.records import parse, put
from parley.turns.runtime import Runtime


def record_proposal(runtime: Runtime, opened: OpenCall, seconds: int) -> Proposal:
    """The proposal of a call, as it was first recorded.

    Its expiry counts from the reply that asked for it: it does not move when a state runs again, and the timer,
    which starts later, cannot fire before it.
    """
    scope, call, function = opened.scope, opened.call, opened.function
    conversation, now = scope.conversation, runtime.clock.now()
    question = function.confirmation_question if function else None
    parameters = function.parameters if function else None
    proposal = Proposal(
        proposal_id=opened.proposal_id,
        root_thread_id=conversation.thread_id,
        thread_id=scope.thread_id,
        project_id=conversation.project_id,
        user_id=conversation.user_id,
        agent_id=scope.agent_id,
        turn=scope.turn,
        root_turn=conversation.turn,
        step=opened.step,
        call=opened.index,
        tool_call_id=call.tool_call_id,
        name=call.name,
        arguments=call.arguments,
        question=confirmation_question(question, call.name, call.arguments, parameters),
        created_at=now,
        expires_at=opened.message.timestamp + seconds,
    )
    partition = keys.proposal_partition(proposal.proposal_id)
    order = f"{conversations.sortable(now)}#{proposal.proposal_id}"
    listed = IndexKey(keys.listed_proposals(proposal.project_id), order)
    try:
        put(runtime, partition, keys.PROPOSAL, proposal, if_version=0, listed=listed)
    except ConditionFailed as failed:
        return parse(runtime, failed.stored, Proposal).value if failed.stored else proposal
    return proposal


def open_proposal(proposal: Proposal, token: str | None = None, order: str = "") -> OpenProposal:
    """The aggregate's entry of a proposal; with ``token``, of one that a task waits for."""
    return OpenProposal(
        proposal_id=proposal.proposal_id,
        thread_id=proposal.thread_id,
        tool_call_id=proposal.tool_call_id,
        token=token,
        order=order,
        expires_at=proposal.expires_at,
    )
