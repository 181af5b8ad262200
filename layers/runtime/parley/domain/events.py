"""The events of a conversation: what clients see, over WebSocket and REST."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from parley.domain.values import Value


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


CHUNKS = frozenset({EventName.StreamMessageChunk, EventName.FunctionArgumentsChunk})
"""Events that may repeat when a model call is tried again; all others carry a stable ``event_id``."""


class NewEvent(Value):
    """An event before the log has given it its ``seq``. ``event_id`` is None for chunks only."""

    event: EventName
    event_id: str | None = None
    subthread_id: str | None = None
    parent_thread_id: str | None = None
    turn: int = 0
    data: dict[str, Any] = Field(default_factory=dict)


class Event(Value):
    """An event as it is logged and sent.

    ``thread_id`` is the root thread, ``at`` epoch seconds, ``seq`` 1, 2, 3, … over the root and its
    subthreads. ``data`` of a large event may be ``{"$ref": seq}`` in a WebSocket frame, never in the log.
    """

    event: EventName
    channel: str
    thread_id: str
    subthread_id: str | None = None
    parent_thread_id: str | None = None
    seq: int
    turn: int
    at: float
    data: dict[str, Any] = Field(default_factory=dict)
    event_id: str | None = None


def channel_of(user_id: str, project_id: str) -> str:
    """The private channel of a user in a project."""
    return f"App.Chat.{user_id}.{project_id}"
