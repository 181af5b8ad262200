"""The Task state OpenSubthread."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.open_subthread import open_subthread
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.open_subthread``."""
    return open_subthread(wiring.runtime(), Task.model_validate(event))
