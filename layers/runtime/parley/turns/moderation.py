"""Moderation of the user's message, by the agent's setting: what is flagged never reaches the model.

A flagged message's turn gets a plain refusal for its reply, recorded where the model's would be, so that the
states that follow need not know. The exchange is left out of later prompts and of the summary too.
"""

from __future__ import annotations

from collections.abc import Sequence

from parley.domain import keys
from parley.domain.agents import Agent
from parley.domain.errors import ProviderError
from parley.domain.events import EventName
from parley.domain.messages import Message, MessageKind
from parley.turns import history
from parley.turns.model_ports import Moderated
from parley.turns.runtime import Runtime
from parley.turns.task import Scope, Task, open_log

REFUSAL = "I can't help with that message."
FLAGGED = "moderated"
"""The metadata that marks a refusal of this kind; its value are the categories."""


def refuse_if_flagged(
    runtime: Runtime, task: Task, scope: Scope, agent: Agent, messages: Sequence[Message]
) -> bool:
    """Check the turn's user message, once; flagged, its refusal is recorded as the reply of step 1.

    A moderation that fails raises its ProviderError, unless the agent lets messages pass then.
    """
    asked = next((m for m in messages if (m.turn, m.step) == (scope.turn, 0)), None)
    if agent.moderation is None or scope.subthread is not None or asked is None:
        return False
    try:
        verdict = runtime.providers.moderator(agent.moderation.provider).moderate(asked.content)
    except ProviderError:
        if agent.moderation.allow_on_failure:
            return False
        raise
    if verdict.flagged:
        _refuse(runtime, task, scope, agent.moderation.provider, verdict)
    return verdict.flagged


def _refuse(runtime: Runtime, task: Task, scope: Scope, provider: str, verdict: Moderated) -> None:
    message = Message(
        id=keys.model_message_id(scope.thread_id, scope.turn, 1),
        kind=MessageKind.ASSISTANT_MESSAGE,
        role="assistant",
        content=REFUSAL,
        timestamp=runtime.clock.now(),
        turn=scope.turn,
        step=1,
        finish_reason="content_filter",
        metadata={"provider": provider, FLAGGED: list(verdict.categories)},
    )
    history.record(runtime, scope, keys.message(scope.thread_id, scope.turn, 1), message)
    chunk = scope.event(
        EventName.StreamMessageChunk,
        f"{message.id}:refusal",
        message_id=message.id,
        attempt=1,
        offset=0,
        text=message.content,
    )
    open_log(runtime, task, scope).append(chunk)


def is_refusal(message: Message) -> bool:
    """Whether this reply stands for a flagged message."""
    return FLAGGED in message.metadata


def without_flagged(messages: Sequence[Message]) -> list[Message]:
    """The messages that a model may see: exchanges with a flagged message are left out whole."""
    flagged = {message.turn for message in messages if is_refusal(message)}
    return [message for message in messages if message.turn not in flagged]
