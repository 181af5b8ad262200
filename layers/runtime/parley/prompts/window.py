"""Which part of a conversation a model is sent: whole exchanges only, so that no call loses its result."""

from __future__ import annotations

from collections.abc import Sequence

from parley.prompts.history import Exchange

CHARACTERS_PER_TOKEN = 3
"""On the cautious side: English has about four, other scripts fewer."""


def window(found: Sequence[Exchange], limit: int, *, max_tokens: int | None = None) -> list[Exchange]:
    """The latest exchanges that fit, and the whole current turn (that of the last exchange) in any case.

    ``limit`` is in messages, the current user's message included; what the current turn adds after it is not
    counted, so that all model calls of a turn see the same past. ``max_tokens`` (estimated) bounds the sum.
    """
    if not found:
        return []
    start = len(found) - 1
    while start > 0 and found[start - 1].turn == found[-1].turn:
        start -= 1
    messages_left = limit - (len(found) - start)
    characters_left = None
    if max_tokens is not None:
        characters_left = max_tokens * CHARACTERS_PER_TOKEN - sum(map(_characters, found[start:]))
    while start > 0:
        earlier = found[start - 1]
        messages_left -= len(earlier.messages)
        if characters_left is not None:
            characters_left -= _characters(earlier)
        if messages_left < 0 or (characters_left is not None and characters_left < 0):
            break
        start -= 1
    return list(found[start:])


def _characters(exchange: Exchange) -> int:
    return sum(
        len(message.content) + sum(len(call.name) + len(str(call.arguments)) for call in message.tool_calls)
        for message in exchange.messages
    )
