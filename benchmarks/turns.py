"""Turns per second and latency of a plain scripted turn on the embedded backend, from POST to ThreadEnd.

``parley serve`` runs in a process of its own on a fresh data folder; the client, in this one, holds each
conversation over a kept-alive HTTP connection and a WebSocket of its own. The model answers with 40 chunks of
5 characters, at once. Every transition, message and event is durable before it is seen.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from parley.cli.servers import member_token as issue

PARLEY = str(Path(sys.executable).with_name("parley"))
CHUNKS = [f"{number:04d} " for number in range(40)]
AGENT = {
    "agent_id": "bench",
    "name": "Bench",
    "provider": "scripted",
    "model": "demo",
    "turns_per_run": 50,
    "settings": {"script": [{"when": "turn", "chunks": CHUNKS}]},
}


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    url: str
    data: str
    pid: int


@contextmanager
def server(**environment: str) -> Iterator[Served]:
    """``parley serve`` on a free port with a fresh data folder."""
    with tempfile.TemporaryDirectory() as data:
        command = [PARLEY, "serve", "--port", "0", "--data", data]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment, "PYTHONUNBUFFERED": "1"},
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"serves (http\S+),", line):
                    yield Served(found.group(1), data, process.pid)
                    break
        finally:
            process.terminate()
            process.wait(30)


def member_token(served: Served, user: str) -> str:
    """A token for a member of the demo project."""
    return issue(Path(served.data), served.url, user, "demo")


class Http:
    """One kept-alive connection, as little as it takes: the client is not what is measured."""

    def __init__(self, served: Served, bearer: str) -> None:
        self._host, _, self._port = served.url.removeprefix("http://").partition(":")
        self._bearer = bearer
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's JSON."""
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self._host, int(self._port))
        payload = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: {self._host}\r\nauthorization: Bearer {self._bearer}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(payload)}\r\n\r\n"
        )
        self._writer.write(head.encode() + payload)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", answer, re.IGNORECASE).group(1))  # type: ignore[union-attr]
        text = await self._reader.readexactly(length)
        assert answer.startswith(b"HTTP/1.1 200"), (answer, text)
        return json.loads(text)


class Conversation:
    """One user with one thread."""

    def __init__(self, served: Served, user: str, bearer: str, agent: str) -> None:
        self._served = served
        self._user = user
        self._agent = agent
        self._http = Http(served, bearer)
        self._socket: ClientConnection | None = None
        self._thread: str | None = None
        self.frames = 0

    async def open(self) -> None:
        """Connect and subscribe."""
        ticket = (await self._http.call("POST", "/api/socket-tickets"))["ticket"]
        url = self._served.url.replace("http", "ws", 1)
        self._socket = await connect(f"{url}/ws?ticket={ticket}", compression=None)
        await self._socket.send(json.dumps({"action": "subscribe", "channel": f"App.Chat.{self._user}.demo"}))
        assert "Subscribed" in str(await self._socket.recv())

    async def say(self, text: str) -> None:
        """Send a message."""
        path = f"/api/projects/demo/agents/{self._agent}/chat"
        if self._thread:
            path = f"/api/projects/demo/chat-threads/{self._thread}"
        self._thread = (await self._http.call("POST", path, {"message": text}))["thread_id"]

    async def frames_until_end(self) -> AsyncIterator[dict[str, Any]]:
        """The turn's events, ThreadEnd the last."""
        assert self._socket is not None
        while True:
            frame = json.loads(await self._socket.recv())
            self.frames += 1
            yield frame
            assert frame["event"] != "TurnFailed", frame
            if frame["event"] == "ThreadEnd":
                return

    async def turn(self, number: int, word: str = "turn") -> float:
        """Seconds from the POST to ThreadEnd."""
        began = time.perf_counter()
        await self.say(f"{word} {number}")
        async for _ in self.frames_until_end():
            pass
        return time.perf_counter() - began

    async def close(self) -> None:
        """Hang up."""
        if self._socket:
            await self._socket.close()


async def measure(served: Served, conversations: int, turns: int) -> dict[str, float]:
    """Latencies in milliseconds and the rate, after a short warm-up."""
    owner = Http(served, member_token(served, "dev"))
    await owner.call("PUT", "/api/projects/demo/agents/bench", AGENT)
    users = [f"bench{number}" for number in range(conversations)]
    held = [Conversation(served, user, member_token(served, user), "bench") for user in users]
    await asyncio.gather(*(conversation.open() for conversation in held))

    async def hold(conversation: Conversation, first: int, count: int) -> list[float]:
        return [await conversation.turn(first + number) for number in range(count)]

    await asyncio.gather(*(hold(conversation, 0, 5) for conversation in held))
    began = time.perf_counter()
    times = await asyncio.gather(*(hold(conversation, 5, turns) for conversation in held))
    elapsed = time.perf_counter() - began
    await asyncio.gather(*(conversation.close() for conversation in held))
    flat = sorted(second * 1000 for some in times for second in some)
    return {
        "conversations": conversations,
        "turns": len(flat),
        "p50_ms": round(statistics.median(flat), 2),
        "p95_ms": round(flat[int(len(flat) * 0.95)], 2),
        "turns_per_second": round(len(flat) / elapsed, 1),
        "frames_per_turn": round(sum(c.frames for c in held) / (len(flat) + 5 * conversations), 1),
    }


def main() -> None:
    """All combinations."""
    for synchronous in ("NORMAL", "FULL"):
        for chunks, milliseconds in (("coalesced", "50"), ("one by one", "0")):
            settings = {"PARLEY_SYNCHRONOUS": synchronous, "PARLEY_CHUNK_MILLISECONDS": milliseconds}
            with server(**settings) as served:
                for conversations, turns in ((1, 300), (20, 60)):
                    result = asyncio.run(measure(served, conversations, turns))
                    print(json.dumps({"synchronous": synchronous, "chunks": chunks, **result}), flush=True)


if __name__ == "__main__":
    main()
