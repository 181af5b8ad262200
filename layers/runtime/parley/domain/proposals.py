"""Proposals: actions that wait for a person's decision. Times are epoch seconds."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from parley.domain.values import Value


class Outcome(StrEnum):
    """How a proposal ended. Only ``APPROVED`` runs the function."""

    APPROVED = "approved"
    DECLINED = "declined"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"


class Decision(Value):
    """What was decided, by whom. ``arguments`` are the reviewer's edited ones, if they edited them."""

    outcome: Outcome
    reviewer: str | None = None
    reason: str | None = None
    arguments: dict[str, Any] | None = None
    decided_at: float


class Proposal(Value):
    """A proposal's own record: written before anything is shown, completed once it is decided.

    The thread's aggregate decides; this record is what people read afterwards. ``turn`` counts its own thread's
    turns, ``root_turn`` is the root's (None in records of before there was such a field).
    """

    proposal_id: str
    root_thread_id: str
    thread_id: str
    project_id: str
    user_id: str
    agent_id: str
    turn: int
    root_turn: int | None = None
    step: int
    call: int
    tool_call_id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    question: str
    created_at: float
    expires_at: float
    decision: Decision | None = None
