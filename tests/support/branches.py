"""Executions that a test steps through, and where each of their branches stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from parley.turns.ports import ExecutionStatus

READY, TOKEN, TIMER, MAP, NESTED, OVER = "ready", "token", "timer", "map", "nested", "over"


@dataclass(eq=False)
class Branch:
    """Where an execution, or one iteration of its Map, stands. ``due``: when its timer fires."""

    execution: Execution
    state: str
    data: Any
    parent: Branch | None = None
    item: dict[str, Any] = field(default_factory=dict)
    status: str = READY
    due: float | None = None
    token: str = ""
    entered_at: float = 0.0
    retries: int = 0
    tries: dict[int, int] = field(default_factory=dict)
    children: list[Branch] = field(default_factory=list)
    nested: str = ""

    def enter(self, state: str, data: Any) -> None:
        """Go to a state."""
        self.state, self.data, self.status, self.due = state, data, READY, None
        self.retries, self.tries, self.token, self.children, self.nested = 0, {}, "", [], ""


@dataclass(eq=False)
class Execution:
    """One execution. ``entered``: the states it was in, in order."""

    name: str
    payload: dict[str, Any]
    status: ExecutionStatus = ExecutionStatus.RUNNING
    branches: list[Branch] = field(default_factory=list)
    entered: list[str] = field(default_factory=list)
