"""Pushing events to connections, some of which are gone, and none of which may have them all."""

from __future__ import annotations

from dataclasses import replace

from parley.domain import keys
from parley.domain.events import channel_of
from parley.turns import projects, sockets
from parley.turns.ports import ConnectionGone
from parley.turns.publish import subscribers_of
from tests.faults.world import World


class Line:
    """Connections whose frames are kept; those that are ``gone`` answer so."""

    def __init__(self) -> None:
        self.gone: set[str] = set()
        self.frames: list[str] = []

    def post(self, connection_id: str, frame: str) -> None:
        if connection_id in self.gone:
            raise ConnectionGone
        self.frames.append(connection_id)


def test_a_connection_that_is_gone_is_forgotten_and_the_turn_reaches_the_others(world: World) -> None:
    line = Line()
    world.use(replace(world.runtime, pusher=line))
    channel = channel_of("ann", "shop")
    for name in ("stays", "went"):
        sockets.connect(world.runtime, name, "ann")
        sockets.receive(world.runtime, name, f'{{"action": "subscribe", "channel": "{channel}"}}')
    line.gone, line.frames = {"went"}, []
    world.work()
    assert world.conversation().turns == 1
    assert set(line.frames) == {"stays"}
    assert len(line.frames) == len(world.events())
    assert [item.sort for item in subscribers_of(world.runtime, channel)] == ["CONNECTION#stays"]
    assert world.store.get(keys.connection_partition("went"), keys.CONNECTION) is None


def test_a_member_of_the_project_cannot_replay_another_members_thread(world: World) -> None:
    line = Line()
    world.use(replace(world.runtime, pusher=line))
    world.work()
    projects.ensure_member(world.runtime, "shop", "bob", projects.Role.OWNER)
    for name, user in (("hers", "ann"), ("his", "bob")):
        sockets.connect(world.runtime, name, user)
        line.frames = []
        sockets.receive(world.runtime, name, f'{{"action": "resume", "thread_id": "{world.thread_id}"}}')
        kept = len(world.events()) + 1  # Resumed ends it
        assert len(line.frames) == (kept if user == "ann" else 1)
