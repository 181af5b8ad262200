"""The Task state CloseSubthread."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.close_subthread import close_subthread
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.close_subthread``."""
    return close_subthread(wiring.runtime(), Task.model_validate(event))
