"""A conversation as it is told: its events in order with what matters of each, its history as a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.systems import System

KEY_DATA = {
    "UserMessage": ("content",),
    "ThreadStart": ("resumed",),
    "StreamMessageChunk": ("text",),
    "FunctionGenerationStart": ("name",),
    "FunctionArgumentsChunk": ("text",),
    "ToolCall": ("name", "arguments"),
    "ToolResponse": ("name", "content", "ok"),
    "MessageEnd": ("content", "finish_reason"),
    "ThreadEnd": ("turn",),
    "ProposeActions": ("actions",),
    "AgentSubthreadStart": ("agent_id",),
    "SubthreadUserMessage": ("content",),
    "ActionRequiresConfirmation": ("name", "arguments", "question"),
    "ActionConfirmed": ("reviewer", "arguments"),
    "ActionRejected": ("reason", "automaticRejection"),
    "TurnFailed": ("type", "retryable"),
    "RunContinued": ("generation",),
}
"""Event → the data that an outline shows, beside ids and times."""
_IN_PIECES = ("StreamMessageChunk", "FunctionArgumentsChunk")
_CALL_ID, _MESSAGE_ID = "tool_call_id", "message_id"


def outline(events: Sequence[dict[str, Any]], sub: str = "sub") -> list[tuple[Any, ...]]:
    """``(name, value…)`` per event, values in the order of ``KEY_DATA``; those of a subthread as ``sub/name``.

    Pieces in a row of the same message or call are one: how many there are, time decides.
    """
    told: list[tuple[Any, ...]] = []
    before: tuple[Any, ...] = ()
    for event in events:
        name, data = event["event"], event["data"]
        label = f"{sub}/{name}" if event["subthread_id"] else name
        belongs = (label, event["subthread_id"], data.get(_CALL_ID) or data.get(_MESSAGE_ID))
        if name in _IN_PIECES and belongs == before:
            told[-1] = (label, told[-1][1] + data["text"])
        else:
            told.append((label, *(data[field] for field in KEY_DATA.get(name, ()))))
        before = belongs
    return told


def tree(system: System, thread: str, subthread: str | None = None) -> list[Any]:
    """The history as a person reads it: ``(kind, content)`` per message; a call's content is its text and calls, a
    link's the agent and the tree of the subthread it leads to.
    """
    return [_node(system, thread, message) for message in system.messages(thread, subthread)]


def _node(system: System, thread: str, message: dict[str, Any]) -> tuple[Any, ...]:
    kind, content, metadata = message["kind"], message["content"], message["metadata"]
    match kind:
        case "ASSISTANT_TOOL_CALL":
            calls = [(call["name"], call["arguments"]) for call in message["tool_calls"]]
            return (kind, content, *calls)
        case "AGENT_SUBTHREAD":
            return (kind, metadata["agent_id"], tree(system, thread, metadata["subthread_id"]))
        case _:
            return (kind, content)
