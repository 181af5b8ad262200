"""The Task state FailTurn."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.fail_turn import fail_turn
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.fail_turn``."""
    return fail_turn(wiring.runtime(), Task.model_validate(event))
