"""The Task state ProposeActions."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.propose_actions import propose_actions
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.propose_actions``."""
    return propose_actions(wiring.runtime(), Task.model_validate(event))
