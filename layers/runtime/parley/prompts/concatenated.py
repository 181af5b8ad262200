"""A whole conversation as one text, for models that do not converse, and where their reply to it ends."""

from __future__ import annotations

import re
from collections.abc import Sequence

from parley.prompts.prompt import Prompt, PromptMessage
from parley.prompts.xml_tools import as_text

STOP_SEQUENCES = ("\nHuman:", "\nUser:")
"""Where such a model would go on to speak for the person."""

RESULTS = "## Tool Execution Results"
"""Heads what the functions answered that the model called last."""
GO_ON = "Go on with your reply to the person, from these results."

_SPEAKER = {"user": "Human", "assistant": "Assistant"}
_LONGEST_STOP = max(map(len, STOP_SEQUENCES))
_STOP = re.compile("|".join(map(re.escape, STOP_SEQUENCES)))


def concatenated_prompt(system: str, messages: Sequence[PromptMessage]) -> str:
    """System prompt, conversation, and the cue for the assistant's next words.

    ``messages`` are of users and the assistant alone (see ``xml_tools.as_text``). Nobody says the results of
    calls: those that the model has yet to see are a part of their own at the end.
    """
    parts = [f"System: {system}"] if system else []
    parts += [_line(message) for message in messages]
    if messages and messages[-1].internal:
        parts[-1] = f"{RESULTS}\n\n{messages[-1].content}\n\n{GO_ON}"
    parts.append("Assistant:")
    return "\n\n".join(parts)


def _line(message: PromptMessage) -> str:
    return message.content if message.internal else f"{_SPEAKER[message.role]}: {message.content}"


def text_of(prompt: Prompt) -> str:
    """The prompt as one text, whether it was composed as one or not."""
    if prompt.text is not None:
        return prompt.text
    return concatenated_prompt(prompt.system, as_text(prompt.messages))


def stop_sequences(prompt: Prompt, most: int | None = None) -> list[str]:
    """The agent's own (setting ``stop``, one or a list), then ours; at most so many."""
    own = prompt.settings.get("stop")
    wanted = [own] if isinstance(own, str) else own if isinstance(own, list) else []
    return list(dict.fromkeys([*wanted, *STOP_SEQUENCES]))[:most]


class SpokenReply:
    """The reply to a concatenated prompt as it arrives.

    Without the space behind the cue, and cut where the model begins to speak for the person.
    """

    def __init__(self) -> None:
        self._held = ""
        self._begun = False
        self.ended = False

    def feed(self, text: str) -> str:
        """What of the reply is certain by now. Once ``ended`` is true, nothing more comes."""
        if self.ended:
            return ""
        held = self._held + text
        stop = _STOP.search(held, max(0, len(self._held) - _LONGEST_STOP))
        if stop is not None:
            self.ended = True
            return self._behind_the_cue(held[: stop.start()].rstrip())
        certain = _certain(held)
        self._held = held[certain:]
        return self._behind_the_cue(held[:certain])

    def finish(self) -> str:
        """The reply is over: what was held back."""
        return "" if self.ended else self._behind_the_cue(self._held)

    def _behind_the_cue(self, text: str) -> str:
        if self._begun:
            return text
        text = text.lstrip()
        self._begun = bool(text)
        return text


def _certain(text: str) -> int:
    """How many characters cannot be cut any more: all but the end that may belong to a stop sequence."""
    line = text.rfind("\n")
    begun = line >= 0 and any(stop.startswith(text[line:]) for stop in STOP_SEQUENCES)
    return len((text[:line] if begun else text).rstrip())
