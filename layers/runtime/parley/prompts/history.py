"""From a thread's stored messages to exchanges that any model accepts.

Owns the repair of history: after it, each call is answered exactly once, right behind the message that made
it, and nothing is empty, whatever was stored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from parley.domain.messages import Message, MessageKind, ToolCall
from parley.prompts.prompt import PromptMessage

NO_RESULT = "No result was recorded for this call."
EMPTY_RESULT = "The function returned nothing."
EMPTY_FAILURE = "The function failed and said nothing more."


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user's message and all that followed it: what a turn is for a model. ``messages[0]`` is the user's."""

    messages: tuple[PromptMessage, ...]


def exchanges(history: Sequence[Message]) -> list[Exchange]:
    """Repair the history and cut it into exchanges.

    What stands before the first user message is left out: it belongs to an exchange whose beginning is gone.
    An internal one, which no person wrote, goes on with the exchange that it stands in.
    """
    responses = _responses(history)
    found: list[list[PromptMessage]] = []
    for position, message in enumerate(history):
        if message.kind is MessageKind.USER_MESSAGE and message.internal:
            if found and message.content.strip():
                found[-1].append(PromptMessage(role="user", content=message.content, internal=True))
        elif message.kind is MessageKind.USER_MESSAGE:
            if message.content:
                found.append([PromptMessage(role="user", content=message.content)])
        elif found:
            found[-1].extend(_assistant(message, position, responses))
    return [Exchange(tuple(messages)) for messages in found]


def _responses(history: Iterable[Message]) -> dict[str, list[tuple[int, Message]]]:
    """Responses by the id of their call, with their positions, in order."""
    responses: dict[str, list[tuple[int, Message]]] = {}
    for position, message in enumerate(history):
        if message.kind is MessageKind.TOOL_RESPONSE:
            call_id = str(message.metadata.get("tool_call_id") or "")
            responses.setdefault(call_id, []).append((position, message))
    return responses


def _assistant(
    message: Message, position: int, responses: dict[str, list[tuple[int, Message]]]
) -> list[PromptMessage]:
    """The assistant's message with the results of its calls; nothing for what models are never sent."""
    if message.kind is MessageKind.ASSISTANT_MESSAGE:
        calls: tuple[ToolCall, ...] = ()
    elif message.kind is MessageKind.ASSISTANT_TOOL_CALL:
        calls = _distinct(message.tool_calls)
    else:
        return []
    if not message.content.strip() and not calls:
        return []
    assistant = PromptMessage(
        role="assistant",
        content=message.content,
        tool_calls=calls,
        provider=message.metadata.get("provider"),
        model=message.metadata.get("model"),
        provider_data=message.metadata.get("provider_data") or {},
    )
    return [assistant, *(_result(call, position, responses) for call in calls)]


def _distinct(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    first = {call.tool_call_id: call for call in reversed(calls)}
    return tuple(_sendable(call) for call in reversed(first.values()))


def _sendable(call: ToolCall) -> ToolCall:
    """The call with null for NaN and infinities: Python reads them, JSON has no room for them."""
    try:
        json.dumps(call.arguments, allow_nan=False)
    except ValueError:
        return call.but(arguments=_finite(call.arguments))
    return call


def _finite(value: Any) -> Any:
    match value:
        case dict():
            return {key: _finite(part) for key, part in value.items()}
        case list():
            return [_finite(part) for part in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def _result(call: ToolCall, position: int, responses: dict[str, list[tuple[int, Message]]]) -> PromptMessage:
    """The first response behind the call that no earlier call took; a stand-in if there is none."""
    waiting = responses.get(call.tool_call_id, [])
    place = next((place for place, (at, _) in enumerate(waiting) if at > position), None)
    if place is None:
        content, ok = NO_RESULT, False
    else:
        _, response = waiting.pop(place)
        content, ok = response.content, response.ok
    if not content.strip():
        content = EMPTY_RESULT if ok else EMPTY_FAILURE
    return PromptMessage(role="tool", content=content, tool_call_id=call.tool_call_id, name=call.name, ok=ok)
