"""The messages of chat wires that have a role for results: one after the other, and no two of a user's in a row.

Models' own templates refuse what providers let through, so a user's messages of one turn are joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.wire.turn_taking import turns_of


def chat_messages(prompt: Prompt, ids: re.Pattern[str]) -> Iterator[PromptMessage]:
    """A user's message first, a user's or a result last, none blank; ``ids`` and instructions as in ``turns_of``."""
    for turn in turns_of(prompt, ids):
        said = [message.content for message in turn.messages if message.role == "user"]
        yield from (message for message in turn.messages if message.role != "user")
        if said:
            yield PromptMessage(role="user", content="\n\n".join(said))
