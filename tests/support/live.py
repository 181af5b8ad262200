"""A client over HTTP and WebSocket that loses its server at any moment and goes on, as a careful one would.

It repeats a request until it is answered, under the same client id; it follows its channel, drops what it has seen,
resumes on a gap and at each reconnection. What it has at the end is compared with what is stored.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

_AGAIN_SECONDS = 0.05
_NOT_NOW = (502, 503, 504)


class LiveClient:
    """One user. ``counts``: requests repeated, reconnections, frames seen twice."""

    def __init__(self, url: str, user: str, token: str, project: str = "demo") -> None:
        self.user = user
        self.project = project
        self.thread = ""
        self.events: list[dict[str, Any]] = []
        self.counts: Counter[str] = Counter()
        self._url = url
        self._http = httpx.AsyncClient(
            base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=30, trust_env=False
        )
        self._ahead: dict[int, dict[str, Any]] = {}
        self._socket: ClientConnection | None = None
        self._resumed_at = 0.0
        self._changed = asyncio.Event()
        self._follower: asyncio.Task[None] | None = None

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's body, whatever becomes of the server meanwhile."""
        while True:
            try:
                answer = await self._http.request(method, path, json=body)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code not in _NOT_NOW:
                assert answer.is_success, (method, path, body, answer.status_code, answer.text)
                return answer.json()
            self.counts["repeated"] += 1
            await asyncio.sleep(_AGAIN_SECONDS)

    def path(self, below: str = "") -> str:
        """A path of the thread."""
        return f"/api/projects/{self.project}/chat-threads/{self.thread}{below}"

    async def say(self, text: str, client_id: str, agent: str) -> str:
        """Send a message; its id."""
        first = f"/api/projects/{self.project}/agents/{agent}/chat"
        body = {"message": text, "client_message_id": client_id}
        answer = await self.request("POST", self.path() if self.thread else first, body)
        if not self.thread:
            self.thread = answer["thread_id"]
            await self._resume()
        assert answer["thread_id"] == self.thread
        return str(answer["message_id"])

    async def decide(self, proposal_id: str, approved: bool) -> None:
        """Decide; a repeated decision finds its own."""
        answer = await self.request("POST", f"/confirmations/{proposal_id}", {"approved": approved})
        assert answer["outcome"] in ("applied", "duplicate"), answer
        assert answer["decision"] == ("approved" if approved else "declined"), answer

    async def log(self) -> list[dict[str, Any]]:
        """The whole event log, over REST."""
        found: list[dict[str, Any]] = []
        while True:
            page = await self.request("GET", self.path(f"/events?after={len(found)}&limit=500"))
            found += page["events"]
            if not page["events"]:
                return found

    async def messages(self) -> list[dict[str, Any]]:
        """All messages that a person sees."""
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = await self.request("GET", self.path(f"/messages?limit=100{cursor}"))
            found += page["messages"]
            if not page["next"]:
                return found
            cursor = f"&cursor={page['next']}"

    # Following.

    def follow(self) -> None:
        """Listen from now on."""
        self._follower = asyncio.create_task(self._follow())

    async def until(self, condition: Callable[[], bool], patience: float) -> None:
        """Wait until the condition holds, looked at whenever an event has come."""
        deadline = time.monotonic() + patience
        while not condition():
            self._changed.clear()
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), min(left, 1.0))

    async def close(self) -> None:
        """Hang up."""
        if self._follower is not None:
            self._follower.cancel()
            with suppress(asyncio.CancelledError):
                await self._follower
        await self._http.aclose()

    async def _follow(self) -> None:
        while True:
            ticket = (await self.request("POST", "/api/socket-tickets"))["ticket"]
            address = f"{self._url.replace('http', 'ws', 1)}/ws?ticket={ticket}"
            with suppress(OSError, WebSocketException, TimeoutError):
                async with connect(address, compression=None, proxy=None) as self._socket:
                    channel = f"App.Chat.{self.user}.{self.project}"
                    await self._socket.send(json.dumps({"action": "subscribe", "channel": channel}))
                    await self._resume()
                    async for frame in self._socket:
                        await self._take(json.loads(frame))
            self._socket = None
            self.counts["reconnected"] += 1
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _resume(self) -> None:
        if self._socket is None or not self.thread:
            return
        self._resumed_at = time.monotonic()
        message = {"action": "resume", "thread_id": self.thread, "after": len(self.events)}
        with suppress(OSError, WebSocketException):
            await self._socket.send(json.dumps(message))

    async def _take(self, frame: dict[str, Any]) -> None:
        if frame["event"] == "Resumed" and frame["data"]["more"]:
            await self._resume()
        if "seq" not in frame:
            assert frame["event"] != "Error", frame
            return
        if frame["seq"] <= len(self.events):
            self.counts["seen twice"] += 1
            return
        self._ahead[frame["seq"]] = frame
        while (following := self._ahead.pop(len(self.events) + 1, None)) is not None:
            self.events.append(following)
        if self._ahead and time.monotonic() - self._resumed_at > 0.2:
            self.counts["gaps"] += 1
            await self._resume()
        self._changed.set()


def texts_of(events: list[dict[str, Any]]) -> dict[str, str]:
    """What a page would show of each model call, joined from its chunks, by message id."""
    texts: dict[str, str] = defaultdict(str)
    for event in events:
        data = event["data"]
        if event["event"] == "MessageReset":
            texts[data["message_id"]] = ""
        elif event["event"] == "StreamMessageChunk":
            assert data["offset"] == len(texts[data["message_id"]]), event
            texts[data["message_id"]] += data["text"]
    return texts
