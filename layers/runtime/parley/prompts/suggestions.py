"""What the person may want to do next: how a model is asked for it, and how its answer is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import StringConstraints, ValidationError

from parley.domain.agents import Agent, Capabilities
from parley.domain.json_text import read_json
from parley.domain.messages import Message, MessageKind
from parley.domain.values import Value
from parley.prompts.aside import aside
from parley.prompts.prompt import Prompt

ACTION_LIMIT = 4
LONGEST_LABEL, LONGEST_MESSAGE = 80, 2000
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "actions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"label": {"type": "string"}, "message": {"type": "string"}},
                "required": ["label", "message"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["actions"],
    "additionalProperties": False,
}
"""Within what every provider with structured output takes: an object at the root, no lengths, all required."""

_EXAMPLE = {
    "actions": [{"label": "Analyze trends", "message": "Analyze the sales trends of these products"}],
}
INSTRUCTION = (
    "Suggest up to three things that the person may want to ask or do next, in the language of the conversation. "
    "label: the words on a button, at most five; message: what the person would write. "
    f"Answer with nothing but JSON of this form: {json.dumps(_EXAMPLE)}"
)
_QUOTED = 2000
"""Characters of each message that are quoted."""
_OPENING = re.compile(r"[\[{]")
_TRIES = 100


class ProposedAction(Value):
    """A button: ``message`` is what a click sends."""

    label: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_LABEL)]
    message: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_MESSAGE)
    ]


def suggestions_prompt(agent: Agent, capabilities: Capabilities, messages: Sequence[Message]) -> Prompt:
    """``messages``: those of the turn; what the person and the agent said is quoted."""
    offered = ", ".join(function.name for function in agent.functions)
    able = f"\n\nThe assistant can also call: {offered}." if offered else ""
    talk = "\n".join(_line(message) for message in messages if _is_spoken(message))
    question = f"{talk}\n\n{INSTRUCTION}"
    return aside(
        agent, capabilities, "suggestions", system=INSTRUCTION + able, question=question, schema=SCHEMA
    )


def _is_spoken(message: Message) -> bool:
    return message.kind in (MessageKind.USER_MESSAGE, MessageKind.ASSISTANT_MESSAGE) and bool(message.content)


def _line(message: Message) -> str:
    return f"{'User' if message.role == 'user' else 'Assistant'}: {message.content[:_QUOTED]}"


def read_suggestions(text: str) -> list[ProposedAction]:
    """The suggestions in a model's answer, however it wrapped them; what is no suggestion is left out.

    Taken is the first JSON value that holds any: a list of them, or an object with such a list.
    """
    for value in _values(text):
        if found := _actions(value):
            return found[:ACTION_LIMIT]
    return []


def _values(text: str) -> Iterator[Any]:
    """The JSON arrays and objects that begin in the text, outermost first; so many tries that no text takes long."""
    decoder = json.JSONDecoder()
    place = 0
    for _ in range(_TRIES):
        begun = _OPENING.search(text, place)
        if begun is None:
            return
        try:
            _, place = decoder.raw_decode(text, begun.start())
            yield read_json(text[begun.start() : place])
        except (ValueError, RecursionError):
            place = max(place, begun.end())


def _actions(value: Any) -> list[ProposedAction]:
    if isinstance(value, dict):
        return next(
            (found for each in value.values() if isinstance(each, list) if (found := _actions(each))), []
        )
    found = []
    for entry in value if isinstance(value, list) else ():
        try:
            found.append(ProposedAction.model_validate(entry))
        except ValidationError:
            continue
    return found
