"""Several pieces of work at once, store call by store call, in an order that a test gives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from parley.turns.ports import Index, Item, Store
from tests.support.waiting import PATIENCE

_current = threading.local()


class GatedStore:
    """A Store before each call of which a piece of interleaved work waits for its turn; others pass."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    def get(self, partition: str, sort: str) -> Item | None:
        _pause()
        return self.inner.get(partition, sort)

    def put(self, item: Item, *, if_version: int | None) -> Item:
        _pause()
        return self.inner.put(item, if_version=if_version)

    def query(self, partition: str, prefix: str, **options: Any) -> list[Item]:
        _pause()
        return self.inner.query(partition, prefix, **options)

    def query_index(self, index: Index, partition: str, **options: Any) -> list[Item]:
        _pause()
        return self.inner.query_index(index, partition, **options)

    def delete(self, partition: str, sort: str, *, if_version: int | None = None) -> None:
        _pause()
        self.inner.delete(partition, sort, if_version=if_version)


def _pause() -> None:
    work: _Work | None = getattr(_current, "work", None)
    if work is not None:
        work.pause()


class _Work:
    """One piece, in a thread of its own. Only one of several moves at any time."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.over = False
        self.error: BaseException | None = None
        self._act = act
        self._turn = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        _current.work = self
        assert self._turn.acquire(timeout=PATIENCE)
        try:
            self._act()
        except BaseException as error:  # noqa: BLE001 - raised where the test waits
            self.error = error
        finally:
            self.over = True
            self._stopped.release()

    def pause(self) -> None:
        """Called in its thread, before a store call."""
        self._stopped.release()
        assert self._turn.acquire(timeout=PATIENCE)

    def move(self) -> None:
        """Let it go on until it is about to make its next store call, or ends."""
        self._turn.release()
        assert self._stopped.acquire(timeout=PATIENCE)
        if self.error is not None:
            raise self.error


def interleave(works: Sequence[Callable[[], Any]], order: Iterable[int]) -> None:
    """Do all of the works, each next step by whom ``order`` says; when it is used up, one after the other."""
    left = [_Work(work) for work in works]
    choices: Iterator[int] = iter(order)
    while left:
        work = left[next(choices, 0) % len(left)]
        work.move()
        if work.over:
            left.remove(work)
