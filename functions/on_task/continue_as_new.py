"""The Task state ContinueAsNew."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.continue_as_new import continue_as_new
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.continue_as_new``."""
    return continue_as_new(wiring.runtime(), Task.model_validate(event))
