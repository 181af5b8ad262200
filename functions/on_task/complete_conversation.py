"""The Task state CompleteConversation."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.complete_conversation import complete_conversation
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.complete_conversation``."""
    return complete_conversation(wiring.runtime(), Task.model_validate(event))
