"""The events that end a model call: its text as a whole, the calls it asked for."""

from __future__ import annotations

import json

from parley.domain.events import EventName, NewEvent
from parley.domain.messages import Message
from parley.turns.event_log import EventLog
from parley.turns.streaming import message_end_id
from parley.turns.task import Scope

ATTEMPT = "attempt"
"""The metadata that says which try of a model call wrote its message; absent for the first."""


def message_end(scope: Scope, message: Message) -> NewEvent:
    """The event that ends a reply's text."""
    return scope.event(
        EventName.MessageEnd,
        message_end_id(message.id),
        message_id=message.id,
        content=message.content,
        finish_reason=message.finish_reason,
        usage=message.usage.model_dump() if message.usage else None,
    )


def closing_events(log: EventLog, scope: Scope, message: Message) -> list[NewEvent]:
    """What follows a recorded reply; a final one's MessageEnd comes with RecordReply.

    Two tries of a call may have been at work at once, and clients have seen the other one's pieces: they then get
    the reply again as it was recorded.
    """
    ends = [message_end(scope, message)] if message.content and message.tool_calls else []
    calls = [
        scope.event(
            EventName.ToolCall,
            f"{call.tool_call_id}:call",
            tool_call_id=call.tool_call_id,
            name=call.name,
            arguments=call.arguments,
        )
        for call in message.tool_calls
    ]
    closing = [*ends, *calls]
    told = [message_end_id(message.id), *(event.event_id for event in closing)]
    if any(log.knows(event_id) for event_id in told if event_id):
        return closing
    spoken = log.speaks(message.id)
    other = spoken not in (0, message.metadata.get(ATTEMPT, 1)) and not log.knows(f"{message.id}:again")
    return [*_again(scope, message, spoken + 1), *closing] if other else closing


def _again(scope: Scope, message: Message, attempt: int) -> list[NewEvent]:
    facts = {"message_id": message.id, "attempt": attempt}
    events = [scope.event(EventName.MessageReset, f"{message.id}:again", **facts)]
    if message.content:
        chunk = {**facts, "offset": 0, "text": message.content}
        events.append(scope.event(EventName.StreamMessageChunk, None, **chunk))
    for call in message.tool_calls:
        begun = {"message_id": message.id, "tool_call_id": call.tool_call_id}
        event_id = f"{message.id}:{attempt}:{call.tool_call_id}:generation"
        events += [
            scope.event(EventName.FunctionGenerationStart, event_id, **begun, name=call.name),
            scope.event(EventName.FunctionArgumentsChunk, None, **begun, text=json.dumps(call.arguments)),
        ]
    return events
