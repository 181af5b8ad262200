"""The events of a conversation: what clients see, over WebSocket and REST."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class EventName(StrEnum):
    """Public event names."""

    UserMessage = "UserMessage"
    ThreadStart = "ThreadStart"
    StreamMessageChunk = "StreamMessageChunk"
    FunctionGenerationStart = "FunctionGenerationStart"
    FunctionArgumentsChunk = "FunctionArgumentsChunk"
    ToolCall = "ToolCall"
    ToolResponse = "ToolResponse"
    MessageEnd = "MessageEnd"
    ThreadEnd = "ThreadEnd"
    ProposeActions = "ProposeActions"
    AgentSubthreadStart = "AgentSubthreadStart"
    SubthreadUserMessage = "SubthreadUserMessage"
    ActionRequiresConfirmation = "ActionRequiresConfirmation"
    ActionConfirmed = "ActionConfirmed"
    ActionRejected = "ActionRejected"
    MessageReset = "MessageReset"
    TurnFailed = "TurnFailed"
    TurnCancelled = "TurnCancelled"
    RunContinued = "RunContinued"
    RunEnded = "RunEnded"
    ConversationCompleted = "ConversationCompleted"


TURN_ENDS = frozenset({EventName.ThreadEnd, EventName.TurnFailed, EventName.TurnCancelled})
"""Each turn has exactly one of these, and it is the last of the turn's events.

With a ``subthread_id``, TurnFailed and TurnCancelled end that subagent's work and no turn.
"""
BETWEEN_TURNS = frozenset(
    {EventName.ProposeActions, EventName.RunContinued, EventName.RunEnded, EventName.ConversationCompleted}
)
"""Events that come behind the end of the turn whose number they bear, and before the next turn."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event before the log has given it its ``seq``. ``event_id`` is None for chunks only: these may repeat when a
    model call is tried again.
    """

    event: EventName
    event_id: str | None
    turn: int
    data: dict[str, Any]
    subthread_id: str | None = None
    parent_thread_id: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """An event as it is logged and sent.

    ``thread_id`` is the root thread, ``at`` epoch seconds, ``seq`` 1, 2, 3, … over the root and its
    subthreads. ``data`` of a large event may be ``{"$ref": seq}`` in a WebSocket frame, never in the log.
    """

    event: str
    channel: str
    thread_id: str
    subthread_id: str | None
    parent_thread_id: str | None
    seq: int
    turn: int
    at: float
    data: dict[str, Any]

    def public(self) -> dict[str, Any]:
        """The envelope, in the order in which it is sent."""
        return {
            "event": self.event,
            "channel": self.channel,
            "thread_id": self.thread_id,
            "subthread_id": self.subthread_id,
            "parent_thread_id": self.parent_thread_id,
            "seq": self.seq,
            "turn": self.turn,
            "at": self.at,
            "data": self.data,
        }


def channel_of(user_id: str, project_id: str) -> str:
    """The private channel of a user in a project."""
    return f"App.Chat.{user_id}.{project_id}"
