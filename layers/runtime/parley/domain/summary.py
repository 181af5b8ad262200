"""The rolling summary: a bounded digest of turns, of a thread's last ones or of those that a prompt does not show."""

from __future__ import annotations

from parley.domain.conversation import SUMMARY_LIMIT

_SAID = 240


def rolled(summary: str, user: str, reply: str) -> str:
    """The summary with one more turn, its oldest lines given up beyond ``SUMMARY_LIMIT`` characters."""
    lines = [*summary.splitlines(), f"User: {_short(user)}", f"Assistant: {_short(reply)}"]
    size, first = sum(map(len, lines)) + len(lines), 0
    while first < len(lines) - 1 and size > SUMMARY_LIMIT:
        size -= len(lines[first]) + 1
        first += 1
    return "\n".join(lines[first:])


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SAID else flat[: _SAID - 1] + "…"
