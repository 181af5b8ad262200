"""The Task state InvokeModel."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.invoke_model import invoke_model
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.invoke_model``."""
    return invoke_model(wiring.runtime(), Task.model_validate(event))
