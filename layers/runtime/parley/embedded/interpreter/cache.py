"""Running executions in memory: at most one object each, found by id, under its lock.

An execution that waits for long may be dropped from memory and is read again when it moves on; how many
such are kept is bounded.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from parley.embedded.interpreter.live import LiveExecution


class Cache:
    """`load` reads a running execution from the database, None if it is closed or unknown."""

    def __init__(self, load: Callable[[int], LiveExecution | None], *, parked: int) -> None:
        self._load = load
        self._most_parked = parked
        self._lock = threading.Lock()
        self._live: dict[int, LiveExecution] = {}
        self._parked: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._live)

    @contextmanager
    def locked(self, execution_id: int) -> Iterator[LiveExecution | None]:
        """The execution under its lock, None unless it runs.

        An exception inside means that what is in memory may not be what is saved: it is read again next time.
        """
        execution = self._acquire(execution_id)
        if execution is None:
            yield None
            return
        try:
            yield execution
        except BaseException:
            self._discard(execution)
            raise
        finally:
            execution.lock.release()

    def add(self, execution: LiveExecution) -> None:
        """Make a new execution, whose lock the caller holds, findable before it is committed."""
        with self._lock:
            self._live[execution.id] = execution

    def discard(self, execution: LiveExecution) -> None:
        """The object is out of use (closed, or not what is saved). The caller holds its lock."""
        self._discard(execution)

    def park(self, execution_id: int) -> None:
        """The execution waits without a worker: it may be dropped when too many do."""
        with self._lock:
            if execution_id not in self._live:
                return
            self._parked[execution_id] = None
            self._parked.move_to_end(execution_id)
            if len(self._parked) <= self._most_parked:
                return
            oldest, _ = self._parked.popitem(last=False)
            execution = self._live.get(oldest)
        if execution is not None and execution.lock.acquire(blocking=False):
            # All it knew is saved, even if it has moved on in the meantime: it is read again when needed.
            self._discard(execution)
            execution.lock.release()

    def _acquire(self, execution_id: int) -> LiveExecution | None:
        while True:
            with self._lock:
                execution = self._live.get(execution_id)
                if execution is None:
                    execution = self._load(execution_id)
                    if execution is None:
                        return None
                    self._live[execution_id] = execution
                self._parked.pop(execution_id, None)
            execution.lock.acquire()
            if not execution.stale:
                return execution
            execution.lock.release()

    def _discard(self, execution: LiveExecution) -> None:
        execution.stale = True
        with self._lock:
            if self._live.get(execution.id) is execution:
                del self._live[execution.id]
            self._parked.pop(execution.id, None)
