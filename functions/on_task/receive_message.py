"""The Task state ReceiveMessage."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.receive_message import receive_message
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.receive_message``."""
    return receive_message(wiring.runtime(), Task.model_validate(event))
