"""Ports behind which workers die: before any call that they make, or just after it.

A worker is one invocation of a task's function, or one request. It dies alone, as a Lambda does, or takes the
whole process along, as ``kill -9`` does. Whoever is dead can do nothing any more: each further call of its code,
from whatever ``except`` or ``finally``, in whatever thread, dies at once and changes nothing.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

from parley.embedded.database import Database
from tests.support.faulty import Died

T = TypeVar("T")
Side = Literal["before", "after"]
INTERPRETER = "Interpreter"
"""The label of what the embedded interpreter saves itself: it dies with the process alone."""


class Place(NamedTuple):
    """The ``call``-th call of the ``nth`` worker of that label."""

    label: str
    nth: int
    call: int


class Point(NamedTuple):
    """A call that was made: where, through which port, and what it was, for people."""

    place: Place
    port: str
    what: str


class Death(NamedTuple):
    """Where a worker dies. Without a place: at the ``call``-th call after the death before."""

    place: Place | None
    side: Side
    call: int = 0


@dataclass(eq=False)
class Worker:
    """Who calls."""

    label: str
    nth: int
    calls: int = 0
    dead: bool = False


_here: ContextVar[Worker | None] = ContextVar("worker", default=None)
"""Who works here, and in the threads that it hands its context to."""


@dataclass
class Fate:
    """Notes every call, and has the worker (``whole``: the process) die at those that ``deaths`` name, in order.

    ``playing``: whether calls count at all. ``dead``: the process is.
    """

    deaths: list[Death] = field(default_factory=list)
    whole: bool = False
    playing: bool = False
    dead: bool = False
    died: list[Point] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.changed = threading.Condition()
        self._lock = threading.Lock()
        self._workers: Counter[str] = Counter()
        self._since = 0
        self._interpreter = Worker(INTERPRETER, 1)
        self._nobody = Worker("Nobody", 1)

    @contextmanager
    def worker(self, label: str) -> Iterator[Worker]:
        """What is called within is called by one worker."""
        with self._lock:
            self._workers[label] += self.playing
            made = Worker(label, self._workers[label])
        if self.dead:
            raise Died
        before = _here.set(made)
        try:
            yield made
        finally:
            _here.reset(before)

    def current(self) -> Worker:
        """Who works here."""
        return _here.get() or self._nobody

    def call(self, port: str, what: str, operation: Callable[[], T], worker: Worker | None = None) -> T:
        """Make a call, or die of it."""
        worker = worker or self.current()
        side = self._note(worker, port, what)
        if side == "before":
            self._die(worker)
        try:
            return operation()
        finally:
            with self.changed:
                self.changed.notify_all()
            if side == "after":
                self._die(worker)
            if self.dead or worker.dead:
                raise Died

    def _note(self, worker: Worker, port: str, what: str) -> Side | None:
        with self._lock:
            if self.dead or worker.dead:
                raise Died
            if not self.playing or worker is self._nobody:
                return None
            worker.calls += 1
            point = Point(Place(worker.label, worker.nth, worker.calls), port, what)
            self.points.append(point)
            self._since += bool(self.died)
            if not self.deaths:
                return None
            place, side, call = self.deaths[0]
            if place != point.place if place else call != self._since:
                return None
            self.deaths.pop(0)
            self.died.append(point)
            self._since = 0
            return side

    def _die(self, worker: Worker) -> None:
        if self.whole or worker is self._interpreter:
            self.dead = True
        worker.dead = True
        with self.changed:
            self.changed.notify_all()
        raise Died

    def revive(self) -> None:
        """Another process takes over."""
        self.dead = False
        self._interpreter.dead = False


class Mortal:
    """A port whose every method that ``names`` lists is a call of the worker's. The others pass."""

    def __init__(self, inner: Any, fate: Fate, port: str, *names: str) -> None:
        self._inner = inner
        self._fate = fate
        self._port = port
        self._names = frozenset(names)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)
        if name not in self._names:
            return method

        def call(*args: Any, **options: Any) -> Any:
            what = f"{name} {_words(args)}".strip()
            return self._fate.call(self._port, what, lambda: method(*args, **options))

        return call


def _words(args: tuple[Any, ...]) -> str:
    """The kind of item that a call is about; ids say nothing to people."""
    first = args[0] if args else ""
    sort = getattr(first, "sort", None) or (args[1] if len(args) > 1 and isinstance(args[1], str) else first)
    return str(sort).partition("#")[0][:24] if isinstance(sort, str) else ""


class MortalDatabase:
    """The interpreter's Database: its commits are calls of the process itself."""

    def __init__(self, inner: Database, fate: Fate) -> None:
        self._inner = inner
        self._fate = fate

    def write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        fate = self._fate
        return fate.call("interpreter", "commit", lambda: self._inner.write(operation), fate._interpreter)

    def read(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        self._alive()
        return self._inner.read(operation)

    def snapshot(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        self._alive()
        return self._inner.snapshot(operation)

    def _alive(self) -> None:
        if self._fate.dead:
            raise Died
