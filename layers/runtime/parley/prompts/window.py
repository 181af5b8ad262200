"""Which part of a conversation a model is sent: whole exchanges only, so that no call loses its result."""

from __future__ import annotations

from collections.abc import Sequence

from parley.prompts.history import Exchange


def window(found: Sequence[Exchange], limit: int) -> list[Exchange]:
    """The latest exchanges that fit, and the whole current turn (that of the last exchange) in any case.

    ``limit`` is in messages, the current user's message included; what the current turn adds after it is not
    counted, so that all model calls of a turn see the same past. ``fit`` bounds the tokens.
    """
    start = current_start(found)
    messages_left = limit - (len(found) - start)
    while start > 0:
        messages_left -= len(found[start - 1].messages)
        if messages_left < 0:
            break
        start -= 1
    return list(found[start:])


def current_start(found: Sequence[Exchange]) -> int:
    """Where the exchanges of the current turn begin."""
    start = max(len(found) - 1, 0)
    while start > 0 and found[start - 1].turn == found[-1].turn:
        start -= 1
    return start
