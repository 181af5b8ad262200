"""The frames that wait for WebSocket clients of this process: the embedded Pusher.

Any thread posts; the event loop that serves the sockets sends. A burst of posts wakes the loop once, and
each connection has one sender for its whole life, so a frame costs an append to a queue and its share of a
wake-up. A turn never waits for a client: one that reads too slowly gets what is queued and is then hung up on, so
that it connects again and resumes by `seq`; what was dropped meanwhile is in the log.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable

from parley.embedded.gateway_socket import IDLE, IDLE_SECONDS, LIFE_SECONDS, TOO_OLD, TOO_SLOW, Close
from parley.turns.ports import ConnectionGone

QUEUED_FRAMES = 4096
QUEUED_CHARACTERS = 8_000_000
"""What may wait for one client: more than a replay posts at once, and little enough to have many such clients."""


class SocketConnection:
    """One open connection. Made by `SocketHub.open`; `send_frames` runs in the event loop."""

    def __init__(self, connection_id: str, opened_at: float) -> None:
        self.connection_id = connection_id
        self.frames: deque[str] = deque()
        self.queued = 0  # characters
        self.dropped = 0
        self._counting = threading.Lock()
        self.opened_at = opened_at
        self.active_at = opened_at
        # True from the post that finds the sender asleep until the sender has found nothing to send.
        self.awake = False
        self._close: Close | None = None
        self._waiter: asyncio.Future[None] | None = None

    def take(self, frame: str) -> bool:
        """Queue a frame, unless there is no room or one was dropped before it. Whether it was queued."""
        with self._counting:
            full = len(self.frames) >= QUEUED_FRAMES or self.queued + len(frame) > QUEUED_CHARACTERS
            if self.dropped or full:
                self.dropped += 1
                return False
            self.queued += len(frame)
            self.frames.append(frame)
            return True

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
                frame = frames.popleft()
                with self._counting:
                    self.queued -= len(frame)
                await send(frame)
            if self._close is not None or self.dropped:
                return self._close or TOO_SLOW
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
        if connection.take(frame) and not connection.awake:
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
