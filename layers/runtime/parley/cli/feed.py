"""One thread's events, each once and in order, whatever the connection does.

Frames come over a WebSocket, at least once and in any order. `seq` puts them right: one that was seen is
dropped, a gap is filled from the REST log, and so is a silence, a lost connection or a value too large for a
frame. Without a WebSocket everything comes from the log.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Any, Literal, Protocol

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from parley.cli.api import Api, Thread
from parley.cli.failure import CommandFailed, Refused
from parley.tools.hosts import on_this_machine

Event = dict[str, Any]

_SILENCE_SECONDS = 5.0
_LONG_POLL_SECONDS = 10.0
_RECONNECT_SECONDS = 5.0
_PAGE = 500


class Socket(Protocol):
    """What is needed of a WebSocket; websockets' own raises WebSocketException and OSError."""

    def send(self, message: str) -> None:
        """Send a text frame."""
        ...

    def recv(self, timeout: float | None = None) -> str | bytes:
        """The next frame. Raises TimeoutError."""
        ...


class Feed:
    """Events of the thread that `follow` names. Opened before the first message: nothing is missed."""

    def __init__(
        self,
        api: Api,
        project: str,
        *,
        open_socket: Callable[[str], AbstractContextManager[Socket]] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._project = project
        self._open_socket = open_socket or _open_socket
        self._now = now
        self._socket: Socket | None = None
        self._opened = ExitStack()
        self._heard_at = 0.0
        self._connect_at = 0.0
        self._thread: Thread | None = None
        self._last = 0
        self._ready: list[Event] = []
        self._early: dict[int, Event] = {}
        self._connect()

    def follow(self, thread: Thread, *, after: int | None = None) -> None:
        """Give all events of a new thread, or those behind `after` of one that others may have worked on.

        The thread that is followed already goes on.
        """
        if self._thread is None or self._thread.thread_id != thread.thread_id:
            self._thread, self._last = thread, after or 0
            self._ready.clear()
            self._early.clear()
            if after is not None:
                self._read_log(wait=0)  # what was pushed before we listened

    def next(self, timeout: float) -> Event | None:
        """The next event; None if there was none for `timeout` seconds."""
        deadline = self._now() + timeout
        while not self._ready:
            remaining = deadline - self._now()
            if remaining <= 0:
                return None
            self._wait(remaining)
        return self._ready.pop(0)

    def close(self) -> None:
        self._drop()

    def _wait(self, remaining: float) -> None:
        if self._socket is None and self._now() >= self._connect_at and self._connect():
            self._read_log(wait=0)  # what was pushed while nobody listened
            return
        if self._socket is None:
            self._read_log(wait=min(_LONG_POLL_SECONDS, remaining))
            return
        try:
            self._take(self._socket.recv(timeout=min(_SILENCE_SECONDS, remaining)))
            self._heard_at = self._now()
        except TimeoutError:
            # Nothing came: either nothing happened, or a frame was dropped. The log knows.
            if self._now() - self._heard_at >= _SILENCE_SECONDS:
                self._heard_at = self._now()
                self._read_log(wait=0)
        except (ConnectionClosed, OSError):
            self._drop()

    def _take(self, frame: str | bytes) -> None:
        try:
            event = json.loads(frame)
        except ValueError:
            return
        if self._thread is None or event.get("thread_id") != self._thread.thread_id:
            return
        seq = event.get("seq")
        if not isinstance(seq, int) or seq <= self._last:
            return
        if "$ref" in event.get("data", {}):
            self._read_log(wait=0)
            return
        self._early[seq] = event
        if self._last + 1 not in self._early:
            self._read_log(wait=0)
        self._release()

    def _release(self) -> None:
        while (event := self._early.pop(self._last + 1, None)) is not None:
            self._last += 1
            self._ready.append(event)

    def _read_log(self, *, wait: float) -> None:
        if self._thread is None:
            return
        path = self._thread / "events"
        try:
            page = self._api.get(path, after=self._last, limit=_PAGE, wait=wait)
        except Refused as refused:
            if refused.type != "events_expired":
                raise
            raise CommandFailed("the events of this thread are too old to be shown") from refused
        for event in page["events"]:
            if event["seq"] == self._last + 1:
                self._last += 1
                self._ready.append(event)
        for seq in [seq for seq in self._early if seq <= self._last]:
            del self._early[seq]
        self._release()

    def _connect(self) -> bool:
        """Open and subscribe. False if that does not work: the log serves then, and later we try again."""
        self._connect_at = self._now() + _RECONNECT_SECONDS
        answer = self._api.post("/api/socket-tickets")
        url = answer.get("url") or self._api.url.replace("http", "ws", 1) + "/ws"
        channel = f"App.Chat.{self._api.user}.{self._project}"
        try:
            socket = self._opened.enter_context(self._open_socket(f"{url}?ticket={answer['ticket']}"))
            socket.send(json.dumps({"action": "subscribe", "channel": channel}))
            while (answered := json.loads(socket.recv(timeout=10)).get("event")) != "Subscribed":
                # Other threads' events may be quicker than the answer; ours are in the log.
                if answered == "Error":
                    self._drop()
                    return False
        except (WebSocketException, OSError, ValueError):
            self._drop()
            return False
        self._socket, self._heard_at = socket, self._now()
        return True

    def _drop(self) -> None:
        self._socket = None
        with suppress(WebSocketException, OSError):
            self._opened.close()


def _open_socket(url: str) -> AbstractContextManager[Socket]:
    proxy: Literal[True] | None = None if on_this_machine(url) else True  # True: the environment's, if any
    return connect(url, open_timeout=10, compression=None, max_queue=1024, proxy=proxy)
