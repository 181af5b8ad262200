"""The frames that wait for WebSocket clients of this process: the embedded Pusher.

Any thread posts; the event loop that serves the sockets sends. A burst of posts wakes the loop once, and
each connection has one sender for its whole life, so a frame costs an append to a queue and its share of a
wake-up. A client that reads too slowly loses frames (it resumes by `seq`); a turn never waits for one.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable

from parley.embedded.gateway_socket import IDLE, IDLE_SECONDS, LIFE_SECONDS, TOO_OLD, Close
from parley.turns.ports import ConnectionGone

QUEUED_FRAMES = 1024


class SocketConnection:
    """One open connection. Made by `SocketHub.open`; `send_frames` runs in the event loop."""

    def __init__(self, connection_id: str, opened_at: float) -> None:
        self.connection_id = connection_id
        self.frames: deque[str] = deque()
        self.dropped = 0
        self.opened_at = opened_at
        self.active_at = opened_at
        # True from the post that finds the sender asleep until the sender has found nothing to send.
        self.awake = False
        self._close: Close | None = None
        self._waiter: asyncio.Future[None] | None = None

    def wake(self) -> None:
        """Let the sender look again. In the event loop only."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self, close: Close) -> None:
        """Have the sender end the connection once it has sent what is queued. In the event loop only."""
        self._close = self._close or close
        self.wake()

    async def send_frames(self, send: Callable[[str], Awaitable[None]]) -> Close:
        """Send what is queued while the connection lives; returns when the server is to close it."""
        frames = self.frames
        while True:
            while frames:
                await send(frames.popleft())
            if self._close is not None:
                return self._close
            self.awake = False
            if frames:  # posted between the last look and the line above, by one who saw us awake
                self.awake = True
                continue
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter


class SocketHub:
    """All open connections, by id. `post` may be called from any thread, the rest from the event loop."""

    def __init__(self) -> None:
        self._connections: dict[str, SocketConnection] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._ready: list[SocketConnection] = []

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Say which loop sends."""
        self._loop = loop

    def post(self, connection_id: str, frame: str) -> None:
        """Queue a frame. Never blocks; raises ConnectionGone if there is no such connection (any more)."""
        connection = self._connections.get(connection_id)
        if connection is None:
            raise ConnectionGone(connection_id)
        if len(connection.frames) >= QUEUED_FRAMES:
            connection.dropped += 1
            return
        connection.frames.append(frame)
        if not connection.awake:
            self._make_ready(connection)

    def open(self, connection_id: str, now: float) -> SocketConnection:
        """Take a connection in: frames posted from now on reach it."""
        connection = SocketConnection(connection_id, now)
        self._connections[connection_id] = connection
        return connection

    def forget(self, connection: SocketConnection) -> None:
        """Let go of a connection that is closed: posts to it raise from now on."""
        self._connections.pop(connection.connection_id, None)
        connection.frames.clear()

    def end_overdue(self, now: float) -> int:
        """Close connections at API Gateway's limits of age and idleness. Returns how many."""
        overdue = 0
        for connection in list(self._connections.values()):
            if now - connection.opened_at >= LIFE_SECONDS:
                connection.close(TOO_OLD)
            elif now - connection.active_at >= IDLE_SECONDS:
                connection.close(IDLE)
            else:
                continue
            overdue += 1
        return overdue

    def __len__(self) -> int:
        return len(self._connections)

    def _make_ready(self, connection: SocketConnection) -> None:
        with self._lock:
            if connection.awake:
                return
            connection.awake = True
            self._ready.append(connection)
            if len(self._ready) > 1:  # the loop has been told already
                return
        if self._loop is None:
            raise ConnectionGone(connection.connection_id)
        try:
            self._loop.call_soon_threadsafe(self._wake_ready)
        except RuntimeError as error:  # the loop is closed: the server has stopped
            raise ConnectionGone(connection.connection_id) from error

    def _wake_ready(self) -> None:
        with self._lock:
            ready, self._ready = self._ready, []
        for connection in ready:
            connection.wake()
