"""The Task state AwaitConfirmation."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.await_confirmation import await_confirmation
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.await_confirmation``."""
    return await_confirmation(wiring.runtime(), Task.model_validate(event))
