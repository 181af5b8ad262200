"""The messages of a thread, as they are stored and shown."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from parley.domain.values import Value


class MessageKind(StrEnum):
    """What a message is in its thread."""

    USER_MESSAGE = "USER_MESSAGE"
    ASSISTANT_MESSAGE = "ASSISTANT_MESSAGE"
    ASSISTANT_TOOL_CALL = "ASSISTANT_TOOL_CALL"
    TOOL_RESPONSE = "TOOL_RESPONSE"
    AGENT_SUBTHREAD = "AGENT_SUBTHREAD"
    PENDING_USER_CONFIRMATION = "PENDING_USER_CONFIRMATION"
    TURN_FAILED = "TURN_FAILED"
    TURN_CANCELLED = "TURN_CANCELLED"


class ToolCall(Value):
    """One call that a model asked for.

    ``tool_call_id`` is ours; ``provider_call_id`` is the provider's own, sent back to that provider only.
    ``arguments_error`` says why ``arguments`` (then ``{}``) could not be read from the model's text.
    """

    tool_call_id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    arguments_error: str | None = None
    provider_call_id: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class Usage(Value):
    """Tokens of one model call, as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0


class Message(Value):
    """One message. ``timestamp`` is epoch seconds; ``turn``, ``step`` and ``call`` place it in its thread.

    A turn's steps are 0 (the user's message) and then one per model call; ``call`` is the index of the tool
    call that a response, a subthread link or a pending confirmation belongs to.
    ``metadata`` holds ``internal``, ``is_tool_response``, ``tool_call_id``, ``provider``, ``model`` and what
    a provider wants back unchanged (under ``provider_data``).
    """

    id: str
    kind: MessageKind
    role: Literal["user", "assistant", "tool", "system"]
    content: str = ""
    timestamp: float
    turn: int
    step: int = 0
    call: int = 0
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    ok: bool = True
    additional_data: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def internal(self) -> bool:
        """Whether it goes to the model and never to a person."""
        return bool(self.metadata.get("internal"))
