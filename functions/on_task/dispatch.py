"""The entry of every Task state's Lambda: the payload's ``state`` names the module that handles it.

A few functions share this handler, one per IAM profile, so that a first turn meets few cold starts; which of
them runs a state, and so with what rights, says the state machine.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

_STATE = re.compile(r"^[A-Z][A-Za-z]+$")


def handler(event: dict[str, Any], context: Any) -> Any:
    """Hand the payload to ``on_task.<state in snake_case>``."""
    return importlib.import_module(f"on_task.{module_of(event['state'])}").handler(event, context)


def module_of(state: str) -> str:
    """The module of a state: ``InvokeModel`` is ``invoke_model``."""
    if not _STATE.match(state):
        raise ValueError(f"{state!r} is not the name of a state")
    return re.sub(r"(?<!^)(?=[A-Z])", "_", state).lower()
