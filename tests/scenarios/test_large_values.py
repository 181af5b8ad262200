"""Values beyond a frame's 32 KB, an item's 400 KB or a state's 256 KiB: whole over REST, by reference on the socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.domain.events import Event
from parley.tools.function import agent_function
from parley.tools.registry import FunctionRegistry
from parley.tools.results import LARGEST_DATA, LONGEST_CONTENT
from parley.turns.item_size import MAX_ITEM_BYTES
from parley.turns.publish import frame_of
from tests.support.large import Keep, LargeModel, text_of
from tests.support.models import OneProvider
from tests.support.soundness import assert_sound, named
from tests.support.systems import System

FRAME = 32 * 1024
STATE = 256 * 1024
INLINE = 200_000
"""Where a body leaves its item (``Settings.inline_limit``); the JSON around a value takes some of it."""
SIZES = [
    *(FRAME + around for around in (-1_000, -200, 1)),
    *(INLINE + around for around in (-1_000, -400, -200, 1)),
    *(STATE + around for around in (-1, 1)),
    *(MAX_ITEM_BYTES + around for around in (-1, 1)),
    3 * MAX_ITEM_BYTES,
]
ON_AWS = [FRAME - 200, INLINE + 1, STATE + 1, MAX_ITEM_BYTES + 1]


def large_agent(system: System, *, asks: bool) -> str:
    functions = FunctionRegistry(
        system.runtime.store, system.clock, classes=(Keep,), blobs=system.runtime.blobs
    )
    system.change_runtime(providers=OneProvider(LargeModel()), functions=functions)
    system.listen()
    keep = agent_function(Keep, requires_user_confirmation=asks)
    return system.agent("large", provider="large", model="any", functions=[keep])


def check_frames(system: System, events: list[dict[str, Any]]) -> None:
    """Each event was pushed: whole, or by its ``seq`` if it would not fit into a frame."""
    stored = {event["seq"]: event for event in events}
    pushed = {frame["seq"]: frame for frame in system.frames if "seq" in frame}
    assert sorted(pushed) == sorted(stored)
    for seq, frame in pushed.items():
        assert len(json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode()) < FRAME
        assert frame["data"] in (stored[seq]["data"], {"$ref": seq})


def check_turn(system: System, size: int) -> None:
    """A call with arguments of that size, its result, a reply of that size, and a turn that reads all of it."""
    text = text_of(size)
    thread = system.start(f"call {size}", large_agent(system, asks=False))
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    check_frames(system, events)
    assert named(events, "ToolCall")[0]["arguments"] == {"text": text}
    [response] = named(events, "ToolResponse")
    assert response["ok"]
    assert response["content"].startswith(text[:LONGEST_CONTENT])
    whole = {"text": text}
    if len(json.dumps(whole, ensure_ascii=False).encode()) <= LARGEST_DATA:
        assert response["additional_data"] == whole
    else:
        assert "more than the 262144 that can be kept" in response["additional_data"]["omitted"]
    assert named(events, "MessageEnd")[-1]["content"] == text
    assert system.get(system.of_thread(thread, "/replies/1"))["content"] == text
    messages = system.messages(thread)
    assert messages[-1]["content"] == text
    assert messages[1]["tool_calls"][0]["arguments"] == {"text": text}
    system.say(thread, "and now?")
    system.rest(thread, turns=2)
    assert system.messages(thread)[-1]["content"] == "Ok."


@pytest.mark.parametrize("size", SIZES)
def test_arguments_results_replies_and_prompts_of_any_size_come_back_whole(
    embedded: System, size: int
) -> None:
    check_turn(embedded, size)


@pytest.mark.parametrize("system", ["aws"], indirect=True)
@pytest.mark.parametrize("size", ON_AWS)
def test_what_is_too_large_for_the_services_of_aws_comes_back_whole(system: System, size: int) -> None:
    check_turn(system, size)


@pytest.mark.parametrize("size", [FRAME - 200, MAX_ITEM_BYTES + 1])
def test_what_a_person_is_asked_and_what_they_change_is_whole_at_any_size(system: System, size: int) -> None:
    thread = system.start(f"call {size}", large_agent(system, asks=True))
    (proposal,) = system.pending(thread)
    assert proposal["arguments"] == {"text": text_of(size)}
    (listed,) = system.get(system.of_project("/confirmations"))["confirmations"]
    assert listed["arguments"] == {"text": text_of(size)}
    changed = {"text": text_of(size + 1)}
    system.decide(proposal, True, arguments=changed)
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    check_frames(system, events)
    assert named(events, "ActionConfirmed")[0]["arguments"] == changed
    assert named(events, "ToolResponse")[0]["content"].startswith(changed["text"][:LONGEST_CONTENT])


def test_a_message_of_the_greatest_length_is_whole_everywhere(system: System) -> None:
    message = "🙂" * 32_000
    thread = system.start(message, large_agent(system, asks=False))
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    check_frames(system, events)
    assert named(events, "UserMessage")[0]["content"] == message
    assert system.messages(thread)[0]["content"] == message
    refused = system.request("POST", system.of_thread(thread), body={"message": message + "!"})
    assert refused.status == 422


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_frame_holds_what_fits_and_names_what_does_not(over: int) -> None:
    def event(text: str) -> Event:
        data = {"content": text}
        return Event("MessageEnd", "c", "t", None, None, seq=7, turn=1, at=1.0, data=data)

    room = 32_000 - len(frame_of(event(""), 32_000).encode())
    frame = json.loads(frame_of(event("é" * (room // 2) + "x" * (room % 2 + over)), 32_000))
    assert frame["data"] == ({"$ref": 7} if over > 0 else {"content": frame["data"].get("content")})
