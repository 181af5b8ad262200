"""What has to be true of a conversation that came to rest, whatever happened to it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from parley.domain import keys
from parley.domain.conversation import Conversation, Phase
from parley.domain.messages import Message, MessageKind
from parley.turns.event_log import first_seq, parse_events
from parley.turns.ports import Store


def check_history(store: Store, conversation: Conversation, accepted: list[str]) -> None:
    """Each accepted message has one turn, in order; each call one response."""
    items = store.query(
        keys.thread_partition(conversation.thread_id), keys.messages(conversation.thread_id), limit=10_000
    )
    history = [Message.model_validate_json(item.body) for item in items]
    asked = [message for message in history if message.kind is MessageKind.USER_MESSAGE]
    answered = [message.content for message in asked]
    if conversation.phase is Phase.COMPLETED:
        answered.append("/end")
    assert answered == accepted
    stopped = {
        event["turn"]
        for event in _events(store, conversation)
        if event["event"] in ("TurnFailed", "TurnCancelled")
    }
    assert [message.turn for message in asked] == list(range(1, conversation.turns + 1))
    for turn in range(1, conversation.turns + 1):
        _check_turn([message for message in history if message.turn == turn], turn in stopped)


def _check_turn(turn: list[Message], stopped: bool) -> None:
    """A model call that stalled may record its reply behind the end of a turn that was stopped without it."""
    said = turn[0].content
    for message in turn:
        if message.kind is MessageKind.ASSISTANT_MESSAGE:
            assert message.content == f"answer to {said}"
        calls = {call.tool_call_id for call in message.tool_calls}
        responses = [m.metadata["tool_call_id"] for m in turn if m.kind is MessageKind.TOOL_RESPONSE]
        assert calls <= set(responses) or (stopped and not responses)
        assert len(responses) == len(set(responses))


def _events(store: Store, conversation: Conversation) -> list[dict[str, Any]]:
    items = store.query(keys.thread_partition(conversation.thread_id), keys.EVENTS, limit=10_000)
    return [event for item in items for event in parse_events(item.body)]


def check_log(store: Store, conversation: Conversation) -> None:
    """``seq`` is 1, 2, 3, …; no event is there twice."""
    items = store.query(keys.thread_partition(conversation.thread_id), keys.EVENTS, limit=10_000)
    expected = 1
    ids: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for item in items:
        assert first_seq(item) == expected
        events = parse_events(item.body)
        expected += len(events)
        ids.update(event["id"] for event in events if event["id"])
        names.update(event["event"] for event in events)
    twice = [event_id for event_id, times in ids.items() if times > 1]
    assert not twice
    assert names["UserMessage"] == conversation.turns
    assert names["ThreadEnd"] + names["TurnFailed"] + names["TurnCancelled"] >= conversation.turns
