"""The Task state RecordReply."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.record_reply import record_reply
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.record_reply``."""
    return record_reply(wiring.runtime(), Task.model_validate(event))
