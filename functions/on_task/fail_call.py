"""The Task state FailCall."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.fail_call import fail_call
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.fail_call``."""
    return fail_call(wiring.runtime(), Task.model_validate(event))
