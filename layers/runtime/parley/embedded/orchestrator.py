"""Executions of the conversation state machine in the embedded interpreter."""

from __future__ import annotations

import json
from typing import Any

from parley.embedded.interpreter import (
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    Interpreter,
    InvalidToken,
    TaskTimedOut,
)
from parley.embedded.interpreter.types import LONGEST_CAUSE
from parley.turns.ports import ExecutionStatus, Started, StateVisit


class EmbeddedOrchestrator:
    """`parley.turns.ports.Orchestrator` for one of the interpreter's machines, named by its id."""

    def __init__(self, interpreter: Interpreter, machine: str) -> None:
        self._interpreter = interpreter
        self._machine = machine

    def start(self, name: str, payload: dict[str, Any]) -> Started:
        """Durable when this returns."""
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        try:
            started = self._interpreter.start_execution(self._machine, name, text).started
        except ExecutionAlreadyExists:
            status = self._interpreter.describe_execution(name).status
            return Started.RUNNING if status is ExecutionStatus.RUNNING else Started.CLOSED
        return Started.STARTED if started else Started.RUNNING

    def wake(self, token: str) -> bool:
        """Durable when this returns."""
        try:
            self._interpreter.send_task_success(token, "{}")
        except (InvalidToken, TaskTimedOut):
            return False
        return True

    def status(self, name: str) -> ExecutionStatus | None:
        """As last saved."""
        try:
            return self._interpreter.describe_execution(name).status
        except ExecutionDoesNotExist:
            return None

    def history(self, name: str) -> list[StateVisit]:
        """As last saved."""
        try:
            return self._interpreter.get_execution_history(name)
        except ExecutionDoesNotExist:
            return []

    def stop(self, name: str, cause: str) -> None:
        """Durable when this returns."""
        try:
            self._interpreter.stop_execution(name, cause=cause[:LONGEST_CAUSE])
        except ExecutionDoesNotExist:
            return
