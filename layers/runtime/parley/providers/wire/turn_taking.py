"""A conversation in which user and assistant take turns, for wires that demand it.

Owns the order: a user's turn first and last, turns alternate, a turn's results of calls stand before its
text, and no text is blank.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.wire.call_ids import with_sent_ids

BLANK = "(an empty message)"
"""Stands for a user's message of nothing but spaces."""
GO_ON = "Go on."
"""What the user says where the history ends with the assistant."""
NO_REPLY = "(No reply was given.)"
"""What the assistant says where a turn ended behind its calls and the wire keeps results and text apart."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side says before the other goes on. A user's turn has results (role tool) first, then text."""

    role: Literal["user", "assistant"]
    messages: tuple[PromptMessage, ...]


def turns_of(prompt: Prompt, ids: re.Pattern[str], *, results_apart: bool = False) -> list[Turn]:
    """The prompt's conversation; instructions begin it where there are no system messages.

    ``ids``: call ids that the target accepts; others are replaced, in calls and results alike.
    ``results_apart``: results of calls and text never share a turn.
    """
    if prompt.text is not None:
        return [Turn("user", (_said(prompt.text),))]
    messages = [message for message in map(_sayable, with_sent_ids(prompt, ids)) if message is not None]
    if prompt.system and not prompt.capabilities.supports_system_messages:
        messages.insert(0, _said(prompt.system))
    elif not messages:
        messages.insert(0, _said(BLANK))
    if messages[-1].role == "assistant":
        messages.append(_said(GO_ON))
    turns: list[Turn] = []
    for before, message in zip([None, *messages[:-1]], messages, strict=True):
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        if results_apart and before is not None and before.role == "tool" and message.role == "user":
            turns.append(Turn("assistant", (PromptMessage(role="assistant", content=NO_REPLY),)))
        if turns and turns[-1].role == role:
            turns[-1] = Turn(role, (*turns[-1].messages, message))
        else:
            turns.append(Turn(role, (message,)))
    return turns


def _said(text: str) -> PromptMessage:
    return PromptMessage(role="user", content=text if text.strip() else BLANK)


def _sayable(message: PromptMessage) -> PromptMessage | None:
    """The message with something in it, or None."""
    if message.content.strip() or message.tool_calls:
        return message
    return None if message.role == "assistant" else message.but(content=BLANK)
