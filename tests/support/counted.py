"""Ports that count what passes through them, and tell a waiting test whenever the store has changed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from parley.domain import keys
from parley.turns.ports import (
    BlobInfo,
    Blobs,
    ExecutionStatus,
    Index,
    Item,
    Orchestrator,
    Pusher,
    Started,
    StateVisit,
    Store,
)


@dataclass
class Counts:
    """``n`` counts operations by name (``store.put``, ``pusher.post``, …), ``size`` the bytes of bodies.

    Queries count once as ``store.query`` and their items as ``store.items``. ``changed`` is notified after
    every write.
    """

    n: Counter[str] = field(default_factory=Counter)
    size: Counter[str] = field(default_factory=Counter)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def add(self, name: str, size: int = 0) -> None:
        """Count one operation."""
        with self.changed:
            self.n[name] += 1
            self.size[name] += size
            if name == "store.put":
                self.changed.notify_all()

    def snapshot(self) -> tuple[Counter[str], Counter[str]]:
        """The counts as they are now, to take the difference from later."""
        with self.changed:
            return Counter(self.n), Counter(self.size)

    def since(self, before: tuple[Counter[str], Counter[str]]) -> tuple[dict[str, int], dict[str, int]]:
        """What was counted since a snapshot, without zeros."""
        n, size = self.snapshot()
        return dict(n - before[0]), dict(size - before[1])


class CountedStore:
    """A Store. A put whose condition failed counts as a write all the same: it costs as much.

    ``aggregates`` has the conversations as last saved, by partition, so that waiting for one costs no read.
    """

    def __init__(self, inner: Store, counts: Counts) -> None:
        self.inner = inner
        self.aggregates: dict[str, Item] = {}
        self._counts = counts

    def get(self, partition: str, sort: str) -> Item | None:
        item = self.inner.get(partition, sort)
        self._counts.add("store.get", len(item.body) if item else 0)
        return item

    def put(self, item: Item, *, if_version: int | None) -> Item:
        try:
            stored = self.inner.put(item, if_version=if_version)
            if item.sort == keys.CONVERSATION:
                with self._counts.changed:
                    known = self.aggregates.get(item.partition)
                    if known is None or known.version < stored.version:
                        self.aggregates[item.partition] = stored
            return stored
        finally:
            self._counts.add("store.put", len(item.body))

    def query(self, partition: str, prefix: str, **options: Any) -> list[Item]:
        items = self.inner.query(partition, prefix, **options)
        self._read("store.query", items)
        return items

    def query_index(self, index: Index, partition: str, **options: Any) -> list[Item]:
        items = self.inner.query_index(index, partition, **options)
        self._read("store.query_index", items)
        return items

    def delete(self, partition: str, sort: str, *, if_version: int | None = None) -> None:
        self.inner.delete(partition, sort, if_version=if_version)
        self._counts.add("store.delete")

    def _read(self, name: str, items: list[Item]) -> None:
        self._counts.add(name)
        for item in items:
            self._counts.add("store.items", len(item.body))


class CountedBlobs:
    """Blobs."""

    def __init__(self, inner: Blobs, counts: Counts) -> None:
        self.inner = inner
        self._counts = counts

    def get(self, key: str) -> bytes | None:
        value = self.inner.get(key)
        self._counts.add("blobs.get", len(value or b""))
        return value

    def put(self, key: str, value: bytes, *, content_type: str = "application/octet-stream") -> None:
        self.inner.put(key, value, content_type=content_type)
        self._counts.add("blobs.put", len(value))

    def delete(self, key: str) -> None:
        self.inner.delete(key)
        self._counts.add("blobs.delete")

    def list_keys(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> list[BlobInfo]:
        self._counts.add("blobs.list_keys")
        return self.inner.list_keys(prefix, after=after, limit=limit)


class CountedOrchestrator:
    """An Orchestrator that also remembers the names it started and the tokens it was given."""

    def __init__(self, inner: Orchestrator, counts: Counts) -> None:
        self.inner = inner
        self._counts = counts
        self.names: list[str] = []
        self.tokens: set[str] = set()

    def start(self, name: str, payload: dict[str, Any]) -> Started:
        if name not in self.names:
            self.names.append(name)
        started = self.inner.start(name, payload)
        self._counts.add("orchestrator.start")
        return started

    def wake(self, token: str) -> bool:
        self.tokens.add(token)
        woken = self.inner.wake(token)
        self._counts.add("orchestrator.wake")
        return woken

    def status(self, name: str) -> ExecutionStatus | None:
        return self.inner.status(name)

    def history(self, name: str) -> list[StateVisit]:
        return self.inner.history(name)

    def stop(self, name: str, cause: str) -> None:
        self.inner.stop(name, cause)


class CountedPusher:
    """A Pusher. ``frames`` keeps what was pushed; ``deliver`` is the backend's own way, None for none."""

    def __init__(self, counts: Counts, deliver: Callable[[str, str], None] | None) -> None:
        self.frames: list[tuple[str, str]] = []
        self._deliver = deliver
        self._counts = counts

    def post(self, connection_id: str, frame: str) -> None:
        if self._deliver is not None:
            self._deliver(connection_id, frame)
        self.frames.append((connection_id, frame))
        self._counts.add("pusher.post", len(frame.encode()))


def counted_pusher(inner: Pusher | None, counts: Counts) -> CountedPusher:
    """A counting pusher over ``inner``; with None the frames are kept only."""
    return CountedPusher(counts, inner.post if inner is not None else None)
