"""The Task state BuildPrompt."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.build_prompt import build_prompt
from parley.turns.task import Task


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """See ``parley.turns.build_prompt``."""
    return build_prompt(wiring.runtime(), Task.model_validate(event))
