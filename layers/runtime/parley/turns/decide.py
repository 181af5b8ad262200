"""POST /confirmations/{proposal_id}: one write decides, the token is answered afterwards."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal

from pydantic import Field

from parley.domain import keys
from parley.domain.conversation import Conversation
from parley.domain.decisions import decide as decide_rule
from parley.domain.errors import InvalidRequest
from parley.domain.proposals import Decision, Outcome, Proposal
from parley.domain.values import Value
from parley.turns import conversations, projects
from parley.turns.calls import read_proposal, settle
from parley.turns.proposing import open_proposal
from parley.turns.records import Stored, load, parse, put
from parley.turns.runtime import Runtime

_PAGE, _PAGES = 100, 20
"""So much of a project's list is looked through for what one user has to decide."""

DecisionOutcome = Literal["applied", "duplicate", "expired", "superseded", "cancelled"]


class DecisionRequest(Value):
    """What a reviewer posts. ``arguments`` replace the proposed ones, and go with an approval alone."""

    approved: bool = Field(strict=True)
    arguments: dict[str, Any] | None = None
    reason: str | None = Field(default=None, max_length=2000)


class DecisionResult(Value):
    """``outcome``: what became of this request. ``decision``: what stands for the proposal."""

    outcome: DecisionOutcome
    decision: Outcome


def decide(runtime: Runtime, user_id: str, proposal_id: str, request: DecisionRequest) -> DecisionResult:
    """Decide a proposal. A late, second or overtaken decision changes nothing and is told so."""
    stored = _readable(runtime, user_id, proposal_id)
    proposal = stored.value
    if proposal.decision is not None:
        return _stands(proposal.decision.outcome)
    _check_arguments(runtime, proposal, request)
    decision = Decision(
        outcome=Outcome.APPROVED if request.approved else Outcome.DECLINED,
        reviewer=user_id,
        reason=request.reason,
        arguments=request.arguments,
        decided_at=runtime.clock.now(),
    )
    conversation, mine = _save(runtime, proposal, decision)
    entry = conversation.proposal(proposal_id)
    conversations.send_signals(runtime, conversation)
    if entry is None or entry.outcome is None:
        return _after_the_turn(runtime, proposal_id)
    if entry.decision != mine:
        return _stands(entry.outcome)
    settle(runtime, stored, decision)
    return DecisionResult(outcome="applied", decision=decision.outcome)


def _save(runtime: Runtime, proposal: Proposal, decision: Decision) -> tuple[Conversation, str]:
    """The body first, under a key of its own, then the save that makes it count."""
    mine = keys.decision(proposal.proposal_id, uuid.uuid4().hex)
    put(runtime, keys.thread_partition(proposal.root_thread_id), mine, decision, if_version=0)
    conversation = conversations.change(
        runtime,
        proposal.root_thread_id,
        lambda c: decide_rule(
            c,
            proposal.proposal_id,
            decision.outcome,
            decision=mine,
            now=runtime.clock.now(),
            early=open_proposal(proposal) if c.turn and c.turn == proposal.root_turn else None,
        ),
    )
    return conversation, mine


def _readable(runtime: Runtime, user_id: str, proposal_id: str) -> Stored[Proposal]:
    """The proposal, if the caller may decide it: who asked, and the project's approvers."""
    stored = read_proposal(runtime, proposal_id)
    if stored is None:
        raise projects.not_found("proposal")
    role = load(
        runtime, keys.project_partition(stored.value.project_id), keys.member(user_id), projects.Member
    )
    if role is None or (stored.value.user_id != user_id and role.value.role is not projects.Role.APPROVER):
        raise projects.not_found("proposal")
    return stored


def _after_the_turn(runtime: Runtime, proposal_id: str) -> DecisionResult:
    """The turn ended meanwhile, and settled its proposals."""
    stored = read_proposal(runtime, proposal_id)
    decision = stored.value.decision if stored else None
    return _stands(decision.outcome if decision else Outcome.CANCELLED)


def _stands(outcome: Outcome) -> DecisionResult:
    match outcome:
        case Outcome.APPROVED | Outcome.DECLINED:
            return DecisionResult(outcome="duplicate", decision=outcome)
        case Outcome.EXPIRED:
            return DecisionResult(outcome="expired", decision=outcome)
        case Outcome.SUPERSEDED:
            return DecisionResult(outcome="superseded", decision=outcome)
        case Outcome.CANCELLED:
            return DecisionResult(outcome="cancelled", decision=outcome)


def _check_arguments(runtime: Runtime, proposal: Proposal, request: DecisionRequest) -> None:
    """Edited arguments must fit the function, as the model's had to. Nobody means them with a refusal."""
    if request.arguments is None:
        return
    if not request.approved:
        raise InvalidRequest(
            "invalid_arguments",
            "arguments: they go with an approval; send none to decline. Nothing was decided.",
        )
    agent = projects.get_agent(runtime, proposal.project_id, proposal.agent_id)
    function = agent.function(proposal.name)
    wrong = runtime.functions.fault(function, request.arguments) if function else None
    if wrong:
        raise InvalidRequest("invalid_arguments", f"arguments: {wrong}")


def pending_proposals(runtime: Runtime, user_id: str, project_id: str, limit: int = 100) -> list[Proposal]:
    """What waits, the newest first: of the user's own threads, or of the whole project for an approver."""
    everyones = projects.require_member(runtime, user_id, project_id) is projects.Role.APPROVER
    now = runtime.clock.now()
    waiting = (
        proposal
        for proposal in _listed(runtime, project_id)
        if proposal.expires_at > now and (everyones or proposal.user_id == user_id)
    )
    return list(islice(waiting, limit))


def _listed(runtime: Runtime, project_id: str) -> Iterator[Proposal]:
    """The project's proposals, the newest first, as far as is looked. Decided, one is listed no more."""
    after = None
    for _ in range(_PAGES):
        items = runtime.store.query_index(
            "listed", keys.listed_proposals(project_id), after=after, limit=_PAGE, descending=True
        )
        yield from (parse(runtime, item, Proposal).value for item in items)
        last = items[-1].listed if len(items) == _PAGE else None
        if last is None:
            return
        after = last.sort
