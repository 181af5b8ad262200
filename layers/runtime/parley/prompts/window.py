"""Which part of a conversation a model is sent: whole exchanges only, so that no call loses its result."""

from __future__ import annotations

from collections.abc import Sequence

from parley.prompts.history import Exchange


def window(found: Sequence[Exchange], limit: int) -> list[Exchange]:
    """The latest exchanges that fit, and the last one, which is the current turn, in any case.

    ``limit`` is in messages, the current user's message included; what the current turn adds after it is not
    counted, so that all model calls of a turn see the same past. ``fit`` bounds the tokens.
    """
    start = max(len(found) - 1, 0)
    messages_left = limit - 1
    while start > 0:
        messages_left -= len(found[start - 1].messages)
        if messages_left < 0:
            break
        start -= 1
    return list(found[start:])
