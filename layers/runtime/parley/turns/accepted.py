"""Accepted messages: the body while it waits in the inbox, a small marker once it was applied."""

from __future__ import annotations

import hashlib

from parley.domain import keys
from parley.domain.values import Value
from parley.turns.records import load, put
from parley.turns.runtime import Runtime

MESSAGE_LIMIT = 32_000
"""Code points of a message."""


class AcceptedMessage(Value):
    """A message as it was accepted. ``content`` is None once ``turn`` applied it: the history has it then.

    ``predefined_message`` names a message whose content the model writes when its turn opens. ``accepted_at``: epoch
    seconds. ``fingerprint`` tells a repeated POST from another message under the same client id.
    """

    message_id: str
    client_message_id: str | None = None
    content: str | None = None
    predefined_message: str | None = None
    accepted_at: float
    fingerprint: str
    turn: int | None = None

    @property
    def applied(self) -> bool:
        """Whether a turn took it."""
        return self.turn is not None


def fingerprint_of(content: str | None, predefined_message: str | None) -> str:
    """What makes two bodies the same message."""
    text = f"message\x1f{content}" if content is not None else f"predefined\x1f{predefined_message}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def read_accepted(runtime: Runtime, thread_id: str, message_id: str) -> AcceptedMessage:
    """An accepted message that is known to exist."""
    found = load(runtime, keys.thread_partition(thread_id), keys.inbox(message_id), AcceptedMessage)
    if found is None:
        raise LookupError(f"no accepted message {message_id} in thread {thread_id}")
    return found.value


def mark_applied(runtime: Runtime, thread_id: str, accepted: AcceptedMessage, turn: int) -> None:
    """Replace the body by a marker: a repeated POST of this message then finds it applied."""
    marker = accepted.but(content=None, predefined_message=None, turn=turn)
    put(runtime, keys.thread_partition(thread_id), keys.inbox(accepted.message_id), marker, if_version=None)
