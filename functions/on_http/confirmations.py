"""Routes of proposals that wait for a decision."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler.api_gateway import Router

from on_http.answers import Name, Written
from on_http.resolver import current_user
from parley import wiring
from parley.turns.decide import DecisionRequest, DecisionResult, decide, pending_proposals
from parley.turns.read_threads import shown_proposal

router = Router()  # type: ignore[no-untyped-call]


class DecisionInput(DecisionRequest, Written):
    """A decision as a person sends it."""


@router.post("/confirmations/<proposal_id>", tags=["confirmations"])
def confirm(proposal_id: Name, request: DecisionInput) -> DecisionResult:
    """Approve or decline a proposed action."""
    return decide(wiring.runtime(), current_user(), proposal_id, request)


@router.get("/api/projects/<project>/confirmations", tags=["confirmations"])
def pending(project: Name) -> dict[str, Any]:
    """What waits for a decision of the caller."""
    waiting = pending_proposals(wiring.runtime(), current_user(), project)
    return {"confirmations": [_shown(proposal) for proposal in waiting]}


def _shown(proposal: Any) -> dict[str, Any]:
    extra = {"root_thread_id": proposal.root_thread_id, "user_id": proposal.user_id}
    return {
        **shown_proposal(proposal),
        **extra,
        "agent_id": proposal.agent_id,
        "created_at": proposal.created_at,
    }
