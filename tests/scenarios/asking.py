"""An agent whose action asks a person, and what came of it."""

from __future__ import annotations

from typing import Any

from parley.tools.function import agent_function
from tests.support.soundness import CALL, REPLY
from tests.support.systems import Note, System

ASKED = ["UserMessage", "ThreadStart", *CALL, "ActionRequiresConfirmation"]
DECIDED = {"approved": "ActionConfirmed", "refused": "ActionRejected"}


def answered(how: str) -> list[str]:
    """The events of a turn whose one call was decided."""
    return [*ASKED, DECIDED[how], "ThreadStart (resumed)", "ToolResponse", *REPLY]


def note(text: str) -> dict[str, Any]:
    return {"name": "note", "arguments": {"text": text}}


def put_agent(system: System, *texts: str, **fields: Any) -> str:
    """An agent that, told to note something, asks for a note of each text, and then says that it is done."""
    script = [
        {"when": "note", "tool_calls": [note(text) for text in texts or ("milk",)]},
        {"when": "note", "text": "That is settled."},
    ]
    asks = agent_function(Note, requires_user_confirmation=True)
    return system.agent(functions=[asks], script=script, **fields)


def ask(system: System, **fields: Any) -> tuple[str, dict[str, Any]]:
    """A thread in which one action waits; it and its proposal."""
    thread = system.start("note it", put_agent(system, **fields))
    (proposal,) = system.pending(thread)
    return thread, proposal


def notes(system: System) -> dict[str, Any]:
    """What the function stored: idempotency key to text and how often it ran."""
    return {key.removeprefix("note/"): value for key, value in system.data("notes").items()}
