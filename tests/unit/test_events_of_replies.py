"""What the log says of a reply and of a call's response, whoever wrote them first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parley.domain.events import EventName, NewEvent
from parley.domain.messages import Message, MessageKind
from parley.turns.model_ports import TextDelta, ToolArgumentsDelta, ToolCallStart
from parley.turns.ports import Item
from parley.turns.records import Stored
from parley.turns.reply_events import closing_events
from parley.turns.streaming import Streamer
from parley.turns.task import Scope
from tests.faults.world import World
from tests.unit.event_logs import a_log, forget


def in_its_turn(world: World) -> Scope:
    """The scope of the first turn."""
    return Scope(Stored(world.conversation().but(turn=1), 1), world.thread_id, "helper", 1)


def texts(world: World) -> list[tuple[int, str]]:
    """Offset and text of each piece."""
    said = [event["data"] for event in world.events() if event["event"] == EventName.StreamMessageChunk]
    return [(data["offset"], data["text"]) for data in said]


def test_a_reply_that_another_try_talked_over_is_said_again_once(world: World) -> None:
    log = a_log(world)
    spoken = {"message_id": "m", "attempt": 2, "offset": 0, "text": "of another try"}
    log.append(NewEvent(EventName.StreamMessageChunk, None, 1, spoken))
    kind = MessageKind.ASSISTANT_MESSAGE
    reply = Message(id="m", kind=kind, role="assistant", content="as recorded", timestamp=0.0, turn=1, step=1)
    for _ in range(2):
        log.append_made(lambda: closing_events(log, in_its_turn(world), reply))
    assert texts(world) == [(0, "of another try"), (0, "as recorded")]
    forget(world)


def test_pieces_say_behind_how_many_characters_they_come(world: World) -> None:
    streamer = Streamer(a_log(world), in_its_turn(world), "m", 1, 1)
    for piece in ("é☃", "𝄞", "a"):
        streamer.take(TextDelta(piece))
        streamer.flush()
    assert texts(world) == [(0, "é☃"), (2, "𝄞"), (3, "a")]
    forget(world)


def test_pieces_of_arguments_are_joined_with_those_of_their_own_call(world: World) -> None:
    streamer = Streamer(a_log(world), in_its_turn(world), "m", 1, 1)
    for name in (0, 1):
        streamer.take(ToolCallStart(name, "f"))
    for index, text in ((0, "a"), (1, "b"), (0, "c"), (1, "d")):
        streamer.take(ToolArgumentsDelta(index, text))
    streamer.flush()
    said = [event["data"]["text"] for event in world.events() if "text" in event["data"]]
    assert said == ["ac", "bd"]
    forget(world)


class _Overtaken:
    """The store; right before a call's response is put, another try's is there."""

    def __init__(self, world: World) -> None:
        self._store = world.runtime.store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def put(self, item: Item, *, if_version: int | None) -> Item:
        if '"TOOL_RESPONSE"' in item.body and if_version == 0:
            self._store.put(
                replace(item, body=item.body.replace("note done", "noted before")), if_version=None
            )
        return self._store.put(item, if_version=if_version)


def test_clients_are_told_the_response_that_stands(world: World) -> None:
    world.work()
    store: Any = _Overtaken(world)
    world.use(replace(world.runtime, store=store))
    world.write("act now")
    world.work()
    (told,) = [event["data"]["content"] for event in world.events() if event["event"] == "ToolResponse"]
    assert told == "noted before"
    world.cancel()
