"""Real sockets whose clients stop reading or vanish: nobody else notices, and a resume brings all they lost."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from parley.embedded import sockets as hub
from parley.embedded.server import run
from parley.embedded.server.run import listen
from parley.turns import sockets
from tests.support.served import Served, receive, served, until

TALK = 30 * ["word " * 1_000]
"""A reply of 30 chunks of 5 KB."""


def listen_with_little_room(host: str, port: int) -> socket.socket:
    """What the system buffers for a client is counted with what we queue: next to nothing here."""
    listening = listen(host, port)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    return listening


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("PARLEY_CHUNK_MILLISECONDS", "0")
    monkeypatch.setattr(hub, "QUEUED_CHARACTERS", 400_000)
    monkeypatch.setattr(sockets, "REPLAY_PAGE", 20)  # of 5 KB each: less than there is room for, as shipped
    monkeypatch.setattr(sockets, "REPLAY_CHARACTERS", 100_000)
    monkeypatch.setattr(run, "listen", listen_with_little_room)
    with served(tmp_path) as running, running.client() as client:
        script = [{"when": "talk", "chunks": TALK}]
        facts = {"name": "Talker", "provider": "scripted", "model": "demo", "turns_per_run": 50}
        facts["settings"] = {"script": script}
        client.put(
            "/api/projects/demo/agents/talker", json={"agent_id": "talker", **facts}
        ).raise_for_status()
        yield running


@contextmanager
def listening(server: Served, **options: Any) -> Iterator[ClientConnection]:
    with server.socket(f"?token={server.token()}", **options) as opened:
        opened.send(json.dumps({"action": "subscribe", "channel": "App.Chat.dev.demo"}))
        assert receive(opened)["event"] == "Subscribed"
        yield opened


def of_little_room(server: Served) -> dict[str, Any]:
    """Options of a connection whose client's buffers hold next to nothing."""
    small = socket.socket()
    small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, _, port = server.url.removeprefix("http://").partition(":")
    small.connect((host, int(port)))
    return {"sock": small, "max_queue": 1}


def test_a_client_that_stops_reading_holds_up_no_turn_and_nobody_else(server: Served) -> None:
    talk, turns = "/api/projects/demo/agents/talker/chat", 6
    with (
        server.client() as client,
        listening(server) as reader,
        listening(server, **of_little_room(server)) as sleeper,
    ):
        thread = client.post(talk, json={"message": "talk 1"}).json()["thread_id"]
        path = f"/api/projects/demo/chat-threads/{thread}"
        seen: list[dict[str, Any]] = []
        for turn in range(1, turns + 1):
            while not seen or seen[-1]["event"] != "ThreadEnd" or seen[-1]["data"]["turn"] < turn:
                seen.append(receive(reader))
            if turn < turns:
                client.post(path, json={"message": f"talk {turn + 1}"}).raise_for_status()
        logged = log_of(client, path)
        assert whole(seen, logged) == logged
        until(lambda: any(each.dropped for each in server.service.hub._connections.values()))
        slept = whole(drained(sleeper), logged)
        assert sleeper.close_code == 1013
        assert slept == logged[: len(slept)]
        assert len(slept) < len(logged)
        with listening(server) as again:
            rest = whole(replayed(again, thread, len(slept)), logged)
        assert slept + rest == logged


def test_a_client_that_vanishes_without_a_word_holds_up_nobody(server: Served) -> None:
    talk = "/api/projects/demo/agents/talker/chat"
    with server.client() as client, listening(server) as reader, listening(server) as gone:
        gone.socket.shutdown(socket.SHUT_RDWR)
        thread = client.post(talk, json={"message": "talk"}).json()["thread_id"]
        names = [receive(reader)["event"] for _ in range(len(TALK) + 4)]
        assert (names[0], names[-1]) == ("UserMessage", "ThreadEnd")
        until(lambda: len(server.service.hub) == 1)
        until(lambda: client.get(f"/api/projects/demo/chat-threads/{thread}").json()["turns"] == 1)


def log_of(client: Any, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := client.get(f"{path}/events", params={"after": len(found), "limit": 500}).json()["events"]:
        found += page
    return found


def whole(frames: Iterable[dict[str, Any]], logged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events, with what stands for a value that is too large for a frame replaced by the log's."""
    return [logged[each["seq"] - 1] if "$ref" in each["data"] else each for each in frames]


def drained(connection: ClientConnection) -> Iterator[dict[str, Any]]:
    """What still comes until the server hangs up."""
    try:
        while True:
            yield receive(connection)
    except ConnectionClosed:
        return


def replayed(connection: ClientConnection, thread: str, after: int) -> Iterator[dict[str, Any]]:
    """All behind ``after``, resuming as often as it takes."""
    while True:
        connection.send(json.dumps({"action": "resume", "thread_id": thread, "after": after}))
        while "seq" in (frame := receive(connection)):
            yield frame
        after = frame["data"]["after"]
        if not frame["data"]["more"]:
            return
