"""What a thread that was imported brought along."""

from __future__ import annotations

from parley.domain import keys
from parley.domain.conversation import Conversation
from parley.domain.values import Value
from parley.turns.records import load
from parley.turns.runtime import Runtime


class ImportedSession(Value):
    """Where a thread came from. ``system_prompt``, if it has one, stands in for the agent's in this thread."""

    session_id: str
    system_prompt: str = ""
    imported_at: float


def imported_prompt(runtime: Runtime, conversation: Conversation) -> str | None:
    """The system prompt that an imported thread brought along; None for any other. Costs others no read."""
    if not conversation.own_prompt:
        return None
    found = load(runtime, keys.thread_partition(conversation.thread_id), keys.IMPORTED, ImportedSession)
    return found.value.system_prompt if found else None
