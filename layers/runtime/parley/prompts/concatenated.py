"""A whole conversation as one text, for models that do not converse."""

from __future__ import annotations

from collections.abc import Sequence

from parley.prompts.prompt import PromptMessage

_SPEAKER = {"user": "Human", "assistant": "Assistant"}


def concatenated_prompt(system: str, messages: Sequence[PromptMessage]) -> str:
    """System prompt, conversation, and the cue for the assistant's next words.

    ``messages`` are of users and the assistant alone (see ``xml_tools.as_text``).
    """
    parts = [f"System: {system}"] if system else []
    parts += [f"{_SPEAKER[message.role]}: {message.content}" for message in messages]
    parts.append("Assistant:")
    return "\n\n".join(parts)
