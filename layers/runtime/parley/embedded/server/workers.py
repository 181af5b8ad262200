"""Threads in which handlers run, so that the event loop only ever moves bytes.

Unlike the standard library's pool, these threads do not hold up the end of the process: a handler that is in
the middle of a long wait is given up when the server stops.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class _Job(NamedTuple):
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class Workers:
    """Up to `limit` threads, started as they are needed."""

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = 0
        self._unfinished = 0

    @property
    def busy(self) -> bool:
        """Whether the next job would have to wait for a thread."""
        return self._unfinished >= self._limit

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, run in a thread. Called from one event loop only."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._unfinished += 1
        if self._unfinished > self._threads and self._threads < self._limit:
            self._threads += 1
            threading.Thread(target=self._work, name=f"{self._name}-{self._threads}", daemon=True).start()
        self._jobs.put(_Job(work, loop, future))
        return await future

    def stop(self) -> None:
        """Let the threads end once they are idle."""
        for _ in range(self._threads):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            result: Any = None
            error: BaseException | None = None
            try:
                result = job.work()
            except BaseException as raised:  # noqa: BLE001 - whatever it is, it belongs to the one who waits
                error = raised
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                job.loop.call_soon_threadsafe(self._settle, job.future, result, error)
            del job, result, error

    def _settle(self, future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
        self._unfinished -= 1
        if future.done():  # timed out or cancelled
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
