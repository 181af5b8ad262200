"""The Task state RunTool."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.run_tool import run_tool
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.run_tool``."""
    return run_tool(wiring.runtime(), Task.model_validate(event))
