"""What the use cases need from the world. Two backends implement these; contract suites run against both.

All bodies are JSON text: numbers, nesting and empty values survive any store unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol


class IndexKey(NamedTuple):
    """An entry in a sparse index: items of one ``partition``, ordered by ``sort`` as a string."""

    partition: str
    sort: str


@dataclass(frozen=True, slots=True)
class Item:
    """One stored item.

    ``version`` is 0 until stored, then 1, 2, 3, …. ``expires_at`` is epoch seconds: from then on the item is
    absent for every reader and may be replaced, whenever the backend really deletes it.
    """

    partition: str
    sort: str
    body: str
    version: int = 0
    expires_at: int | None = None
    due: IndexKey | None = None
    listed: IndexKey | None = None


class ConditionFailed(Exception):
    """A conditional put found another item. ``stored`` is that item, None if there is none."""

    def __init__(self, stored: Item | None) -> None:
        super().__init__("the stored item is not the one that the condition names")
        self.stored = stored


Index = Literal["due", "listed"]


class Store(Protocol):
    """Versioned items under (partition, sort). Reads see every write that was answered before them.

    Raises StoreUnavailable when the backend does not answer or throttles, StorageError when it cannot be written.
    """

    def get(self, partition: str, sort: str) -> Item | None:
        """The item, or None."""
        ...

    def put(self, item: Item, *, if_version: int | None) -> Item:
        """Store ``item`` and return it with its new version.

        ``if_version=0``: only if there is none; ``n``: only if the stored version is n; None: whatever is there.
        Raises ConditionFailed with the stored item otherwise. Every call carries a write id of its own, so
        that a put whose answer was lost and that is sent again is still a success.
        """
        ...

    def query(
        self,
        partition: str,
        prefix: str,
        *,
        after: str | None = None,
        limit: int = 100,
        descending: bool = False,
    ) -> list[Item]:
        """Items whose sort key begins with ``prefix``, in order; ``after`` (a sort key) and all before it left out.

        With ``descending`` the order is reversed, and "before" with it. Fewer than ``limit`` items mean the end.
        """
        ...

    def query_index(
        self,
        index: Index,
        partition: str,
        *,
        after: str | None = None,
        until: str | None = None,
        limit: int = 100,
        descending: bool = False,
    ) -> list[Item]:
        """Items of an index partition by their index sort key, ``after`` left out, ``until`` included.

        May lag behind the items themselves by a moment; the items returned are whole and current.
        """
        ...

    def delete(self, partition: str, sort: str, *, if_version: int | None = None) -> None:
        """Remove the item, if it is there. With ``if_version``: only that version, else ConditionFailed."""
        ...


class Blobs(Protocol):
    """Large values under keys such as ``threads/…``."""

    def get(self, key: str) -> bytes | None:
        """The value, or None."""
        ...

    def put(self, key: str, value: bytes, *, content_type: str = "application/octet-stream") -> None:
        """Store the value; durable when this returns; a reader sees the old value or the new one, whole."""
        ...

    def delete(self, key: str) -> None:
        """Remove the value, if it is there."""
        ...

    def list_keys(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> list[BlobInfo]:
        """Keys that begin with ``prefix``, in order, ``after`` left out."""
        ...


class BlobInfo(NamedTuple):
    """A listed blob: its key, size in bytes, and time of change in epoch seconds."""

    key: str
    size: int
    modified_at: float


class Started(StrEnum):
    """What became of a request to start an execution."""

    STARTED = "started"
    RUNNING = "running"
    CLOSED = "closed"


class ExecutionStatus(StrEnum):
    """Step Functions' own words."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    ABORTED = "ABORTED"


@dataclass(frozen=True, slots=True)
class StateVisit:
    """One state that an execution entered. Times are epoch seconds; ``iteration`` is a Map index, outermost first.

    ``outcome`` is "running", "succeeded", "failed", "timed_out" or "aborted"; ``waiting``: on a task token or a timer.
    """

    name: str
    type: str
    entered_at: float
    exited_at: float | None = None
    outcome: str = "running"
    error: str | None = None
    retries: int = 0
    waiting: bool = False
    iteration: tuple[int, ...] = ()


class Orchestrator(Protocol):
    """Executions of the conversation state machine."""

    def start(self, name: str, payload: dict[str, Any]) -> Started:
        """Start the execution of that name, or find it running or closed."""
        ...

    def wake(self, token: str) -> bool:
        """Answer a task token with ``{}``. False if it was answered before, timed out or is unknown."""
        ...

    def status(self, name: str) -> ExecutionStatus | None:
        """The execution's status; None if there is none of that name."""
        ...

    def history(self, name: str) -> list[StateVisit]:
        """The states it entered, in order of entry; empty if there is none of that name."""
        ...

    def stop(self, name: str, cause: str) -> None:
        """Abort it, and what it nests; nothing if it is closed or unknown."""
        ...


class ConnectionGone(Exception):
    """The WebSocket connection is closed: forget it."""


class Pusher(Protocol):
    """Frames to WebSocket connections."""

    def post(self, connection_id: str, frame: str) -> None:
        """Send a text frame (at most 32 KB). Raises ConnectionGone; a throttled or slow connection loses the frame.

        Never blocks a turn for longer than a short time limit of its own.
        """
        ...


class Clock(Protocol):
    """Time, in epoch seconds."""

    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class Secrets(Protocol):
    """Settings of the installation, some of them secret."""

    def get(self, name: str) -> str | None:
        """The value of a setting such as ``OPENAI_API_KEY``, or None."""
        ...
