"""Connections: who may open one, what it may listen to and replay, and what becomes of one that is gone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

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
        self.last: dict[str, Any] = {}

    def post(self, connection_id: str, frame: str) -> None:
        if connection_id in self.gone:
            raise ConnectionGone
        self.frames.append(connection_id)
        self.last = json.loads(frame)


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


def test_an_event_is_stored_before_anybody_hears_of_it(world: World) -> None:
    heard: list[bool] = []

    class Listening(Line):
        def post(self, connection_id: str, frame: str) -> None:
            super().post(connection_id, frame)
            if seq := self.last.get("seq"):
                heard.append(len(world.events()) >= seq)

    world.use(replace(world.runtime, pusher=Listening()))
    sockets.connect(world.runtime, "c", "ann")
    subscribe = {"action": "subscribe", "channel": channel_of("ann", "shop")}
    sockets.receive(world.runtime, "c", json.dumps(subscribe))
    world.work()
    assert heard == [True] * len(world.events())


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


def test_who_is_no_member_any_more_cannot_replay_even_their_own_thread(world: World) -> None:
    line = Line()
    world.use(replace(world.runtime, pusher=line))
    world.work()
    sockets.connect(world.runtime, "c", "ann")
    world.store.delete(keys.project_partition("shop"), keys.member("ann"))
    sockets.receive(world.runtime, "c", f'{{"action": "resume", "thread_id": "{world.thread_id}"}}')
    assert (line.frames, line.last["data"]["type"]) == (["c"], "not_found")


@pytest.mark.parametrize(
    "channel", ["", "shop", "App.Chat.ann", "App.Chat.ann.", "App.Chat.ann.mill", "App.Chat.bob.shop"]
)
def test_a_connection_listens_to_its_users_own_channels_in_their_own_projects_alone(
    world: World, channel: str
) -> None:
    line = Line()
    world.use(replace(world.runtime, pusher=line))
    projects.ensure_member(world.runtime, "mill", "bob", projects.Role.OWNER)
    projects.ensure_member(world.runtime, "App.Chat.bob.shop", "ann", projects.Role.OWNER)
    sockets.connect(world.runtime, "c", "ann")
    sockets.receive(world.runtime, "c", json.dumps({"action": "subscribe", "channel": channel}))
    assert line.last["data"]["type"] == "not_found"
    assert subscribers_of(world.runtime, channel) == []


def test_a_ticket_opens_one_connection_within_a_minute(world: World) -> None:
    early, late = (sockets.issue_ticket(world.runtime, "ann") for _ in range(2))
    world.clock.advance(59.9)
    assert [sockets.redeem_ticket(world.runtime, early) for _ in range(2)] == ["ann", None]
    world.clock.advance(0.1)
    assert sockets.redeem_ticket(world.runtime, late) is None
    assert sockets.redeem_ticket(world.runtime, "made up") is None


def test_of_two_that_show_one_ticket_at_once_one_is_let_in(world: World) -> None:
    ticket = sockets.issue_ticket(world.runtime, "ann")
    admitted: list[str | None] = []

    class Slow:
        """Behind its read, another one shows the ticket."""

        delete = world.store.delete

        def get(self, partition: str, sort: str) -> Any:
            item = world.store.get(partition, sort)
            admitted.append(sockets.redeem_ticket(world.runtime, ticket))
            return item

    slow: Any = Slow()
    admitted.append(sockets.redeem_ticket(replace(world.runtime, store=slow), ticket))
    assert admitted == ["ann", None]
