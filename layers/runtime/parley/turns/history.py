"""Reading and writing a thread's messages under their deterministic keys."""

from __future__ import annotations

from parley.domain import keys
from parley.domain.errors import StaleRun
from parley.domain.events import EventName
from parley.domain.messages import Message, MessageKind
from parley.turns.accepted import AcceptedMessage
from parley.turns.event_log import EventLog
from parley.turns.records import load, parse, put_once
from parley.turns.runtime import Runtime
from parley.turns.task import Scope

PAGE = 100


def record(runtime: Runtime, scope: Scope, sort: str, message: Message) -> Message:
    """Store a message, or return the one that is there already."""
    return put_once(runtime, scope.partition, sort, message)


def record_user_message(runtime: Runtime, scope: Scope, log: EventLog, accepted: AcceptedMessage) -> Message:
    """The turn's USER_MESSAGE and the events that open it on the page."""
    client_id = accepted.client_message_id
    message = Message(
        id=accepted.message_id,
        kind=MessageKind.USER_MESSAGE,
        role="user",
        content=accepted.content or accepted.predefined_message or "",
        timestamp=accepted.accepted_at,
        turn=scope.turn,
        metadata={"client_message_id": client_id} if client_id else {},
    )
    recorded = record(runtime, scope, keys.message(scope.thread_id, scope.turn, 0), message)
    log.append(
        scope.event(
            EventName.UserMessage,
            f"{recorded.id}:user",
            message_id=recorded.id,
            client_message_id=client_id,
            content=recorded.content,
        ),
        scope.event(EventName.ThreadStart, f"{recorded.id}:start", message_id=recorded.id, resumed=False),
    )
    return recorded


def record_reply(runtime: Runtime, scope: Scope, step: int, message: Message) -> Message:
    """Store the reply of a step's model call, or return the one that is there. Raises StaleRun in a sealed turn."""
    sort = keys.message(scope.thread_id, scope.turn, step)
    return _require_reply(record(runtime, scope, sort, message))


def model_message(runtime: Runtime, scope: Scope, step: int) -> Message | None:
    """The reply of a step's model call, if it was recorded. Raises StaleRun in a turn that was sealed there."""
    found = load(runtime, scope.partition, keys.message(scope.thread_id, scope.turn, step), Message)
    return _require_reply(found.value) if found else None


def _require_reply(message: Message) -> Message:
    if message.kind in SEALS:
        raise StaleRun(f"turn {message.turn} was ended before step {message.step} had its reply")
    return message


def seal(runtime: Runtime, scope: Scope, message: Message) -> Message:
    """End a turn with a message in the place of its next reply, so that no model call that goes on can add one.

    The message as it is recorded, or a reply that was there first: the turn is then not sealed yet.
    """
    return record(runtime, scope, keys.message(scope.thread_id, scope.turn, message.step), message)


def final_reply(runtime: Runtime, scope: Scope) -> Message | None:
    """The reply that ends the turn, if it was recorded: its last, without calls."""
    replies = [m for m in recent(runtime, scope, 1) if m.turn == scope.turn and m.role == "assistant"]
    return replies[-1] if replies and not replies[-1].tool_calls else None


def call_response(runtime: Runtime, scope: Scope, step: int, call: int) -> Message | None:
    """The response of a call, if it was recorded."""
    sort = keys.call_message(scope.thread_id, scope.turn, step, call, keys.RESPONSE)
    found = load(runtime, scope.partition, sort, Message)
    return found.value if found else None


def recent(runtime: Runtime, scope: Scope, window: int) -> list[Message]:
    """The last messages of the thread, oldest first: at least ``window`` that a model sees, and the whole current turn.

    What this reads is bounded by the window and the turn, not by the length of the thread.
    """
    found: list[Message] = []
    counted = 0
    before: str | None = None
    limit = window + 1
    while True:
        items = runtime.store.query(
            scope.partition, keys.messages(scope.thread_id), after=before, limit=limit, descending=True
        )
        for item in items:
            message = parse(runtime, item, Message).value
            found.append(message)
            counted += message.kind in _SENT
            if counted > window and message.turn < scope.turn:
                return found[::-1]
        if len(items) < limit:
            return found[::-1]
        before, limit = items[-1].sort, PAGE


SEALS = frozenset({MessageKind.TURN_FAILED, MessageKind.TURN_CANCELLED})
"""Kinds that stand at the end of a turn that was stopped, where its next reply would be."""
_SENT = frozenset(
    {
        MessageKind.USER_MESSAGE,
        MessageKind.ASSISTANT_MESSAGE,
        MessageKind.ASSISTANT_TOOL_CALL,
        MessageKind.TOOL_RESPONSE,
    }
)


def current_step(messages: list[Message], turn: int) -> int:
    """The model call that is to be made, or finished, next in ``turn``.

    The last reply's own step while it is the final one or has calls without a response; otherwise the next.
    """
    replies = [m for m in messages if m.turn == turn and m.role == "assistant" and m.kind in _SENT]
    if not replies:
        return 1
    last = replies[-1]
    answered = {m.call for m in messages if _is_response(m, turn, last.step)}
    if last.tool_calls and all(index in answered for index in range(len(last.tool_calls))):
        return last.step + 1
    return last.step


def _is_response(message: Message, turn: int, step: int) -> bool:
    return message.kind is MessageKind.TOOL_RESPONSE and (message.turn, message.step) == (turn, step)
