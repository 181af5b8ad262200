"""The Task state CloseRun."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.close_run import close_run
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.close_run``."""
    return close_run(wiring.runtime(), Task.model_validate(event))
