"""What a thread remembers: which messages the next model call sees, which call that is, what a digest keeps."""

from __future__ import annotations

from typing import Any

import pytest

from parley.domain import keys
from parley.domain.conversation import SUMMARY_LIMIT
from parley.domain.messages import Message, MessageKind, ToolCall
from parley.domain.summary import rolled
from parley.turns import history
from parley.turns.model_ports import ToolArgumentsDelta, ToolCallStart
from parley.turns.records import Stored
from parley.turns.streaming import ReplyDraft
from parley.turns.task import Scope
from tests.faults.world import World

ROLES: dict[MessageKind, Any] = {
    MessageKind.USER_MESSAGE: "user",
    MessageKind.ASSISTANT_MESSAGE: "assistant",
    MessageKind.ASSISTANT_TOOL_CALL: "assistant",
    MessageKind.TOOL_RESPONSE: "tool",
    MessageKind.PENDING_USER_CONFIRMATION: "system",
}


def a_message(kind: MessageKind, turn: int, step: int = 0, call: int = 0, calls: int = 0) -> Message:
    asked = tuple(ToolCall(tool_call_id=f"c{number}", name="f") for number in range(calls))
    place: dict[str, Any] = {"turn": turn, "step": step, "call": call, "tool_calls": asked}
    return Message(
        id=f"{turn}.{step}.{call}", kind=kind, role=ROLES[kind], content="x", timestamp=0.0, **place
    )


def store(world: World, messages: list[Message]) -> Scope:
    """The messages under their keys; the scope of the last one's turn."""
    turn = messages[-1].turn
    scope = Scope(Stored(world.conversation(), 1), "a subthread", "helper", turn)
    for message in messages:
        sort = keys.message(scope.thread_id, message.turn, message.step)
        if message.role in ("tool", "system"):
            part = keys.RESPONSE if message.role == "tool" else keys.PENDING
            sort = keys.call_message(scope.thread_id, message.turn, message.step, message.call, part)
        history.record(world.runtime, scope, sort, message)
    return scope


def with_calls(turn: int, steps: int) -> list[Message]:
    """A turn of so many steps with a call each, which a person was asked about."""
    found = [a_message(MessageKind.USER_MESSAGE, turn)]
    for step in range(1, steps + 1):
        found.append(a_message(MessageKind.ASSISTANT_TOOL_CALL, turn, step, calls=1))
        found.append(a_message(MessageKind.PENDING_USER_CONFIRMATION, turn, step))
        found.append(a_message(MessageKind.TOOL_RESPONSE, turn, step))
    return found


def test_the_current_turn_is_read_whole_however_small_the_window(world: World) -> None:
    current = with_calls(2, steps=9)
    scope = store(world, [*with_calls(1, steps=1), *current])
    assert history.recent(world.runtime, scope, 3)[1:] == current


def test_a_window_counts_what_a_model_sees(world: World) -> None:
    scope = store(world, [message for turn in range(1, 9) for message in with_calls(turn, steps=1)])
    for window in range(1, 12):
        found = history.recent(world.runtime, scope, window)
        seen = [message for message in found if message.kind is not MessageKind.PENDING_USER_CONFIRMATION]
        assert len(seen) == max(window, 3) + 1


@pytest.mark.parametrize(
    ("calls", "answered", "step"), [(0, [], 3), (2, [], 3), (2, [0], 3), (2, [1], 3), (2, [0, 1], 4)]
)
def test_the_next_model_call_comes_behind_the_last_response(
    calls: int, answered: list[int], step: int
) -> None:
    kind = MessageKind.ASSISTANT_TOOL_CALL if calls else MessageKind.ASSISTANT_MESSAGE
    messages = [*with_calls(1, steps=2), a_message(kind, 1, 3, calls=calls)]
    messages += [a_message(MessageKind.TOOL_RESPONSE, 1, 3, call=call) for call in answered]
    assert history.current_step(messages, 1) == step
    assert history.current_step(messages, 2) == 1


@pytest.mark.parametrize("given", ["[1]", '"text"', "7", "null"])
def test_arguments_that_are_no_object_are_an_error_of_the_call(given: str) -> None:
    draft = ReplyDraft()
    draft.take(ToolCallStart(0, "f"))
    draft.take(ToolArgumentsDelta(0, given))
    (call,) = draft.tool_calls("thread", 1, 1)
    assert call.arguments == {}
    assert "must be a JSON object" in (call.arguments_error or "")


def test_a_digest_forgets_its_oldest_lines_and_not_the_last() -> None:
    digest = ""
    for number in range(100):
        digest = rolled(digest, f"question {number}", "reply " * 100)
    assert len(digest) <= SUMMARY_LIMIT
    assert "question 99" in digest
    assert "question 1\n" not in digest
