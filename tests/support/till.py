"""An outside system that functions act on, as a function pack for a server in a process of its own.

The till is a file that outlives the server: a line per call that reached it, with the call's idempotency key. A
till that knows keys pays each once, however often the call comes; the lines tell how often it came.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from parley.tools.function import Function, FunctionArguments, FunctionResult

VARIABLE = "TILL_FILE"
"""The environment variable with the till's path."""
WORK_SECONDS = 0.02
"""What a call takes after its effect: an accident in there leaves an effect without a result."""


class _Acting(Function):
    """Writes its line, then takes a moment."""

    pack: ClassVar[str] = "till"

    class Arguments(FunctionArguments):
        amount: int = Field(ge=1, le=1000)

    def handle(self, arguments: Arguments) -> FunctionResult:
        line = {"function": self.name, "key": self.context.idempotency_key, "amount": arguments.amount}
        descriptor = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, json.dumps(line).encode() + b"\n")
        finally:
            os.close(descriptor)
        time.sleep(WORK_SECONDS)
        return FunctionResult(f"{self.name} of {arguments.amount} is done.")


class Pay(_Acting):
    """Asks a person first."""

    name: ClassVar[str] = "pay"
    description: ClassVar[str] = "Pays an amount."
    requires_user_confirmation: ClassVar[bool] = True
    confirmation_question: ClassVar[str | None] = "Pay {amount}?"


class Look(_Acting):
    """Asks nobody."""

    name: ClassVar[str] = "look"
    description: ClassVar[str] = "Looks an amount up."


def functions() -> list[type[Function]]:
    """The pack."""
    return [Pay, Look]


def lines_of(till: Path) -> list[dict[str, Any]]:
    """All calls that reached the till; whole lines only, since a kill may cut none: a write of a line is one."""
    return [json.loads(line) for line in till.read_text().splitlines()] if till.exists() else []
