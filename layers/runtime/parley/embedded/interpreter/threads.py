"""Threads of the interpreter: workers that run jobs, and the one that waits for the next timer."""

import contextlib
import heapq
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Hashable
from typing import Protocol

_log = logging.getLogger(__name__)
_LONGEST_WAIT = 30.0
MOST_THREADS = 512


class TimedClock(Protocol):
    """A clock that says how long to block, and tells when it was moved."""

    def now(self) -> float:
        """Epoch seconds."""
        ...

    def real_delay(self, until: float) -> float | None:
        """Real seconds to block until that instant; None: until told."""
        ...

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called after each move of the clock. Returns the unsubscriber."""
        ...


class Pool:
    """Daemon threads, made when there is work for them, that run jobs in the order given: at most `size` at work.

    One that has been at a single job for `busy_seconds` waits for somebody (a function, a model) and counts no more:
    jobs that hang hold up no others, until there are `MOST_THREADS` of them. A job that raises leaves its thread alive
    for the next.
    """

    def __init__(self, size: int, name: str, *, busy_seconds: float = 2.0) -> None:
        self._size = size
        self._name = name
        self._busy_seconds = busy_seconds
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._relief = threading.Condition(self._lock)
        self._threads: set[threading.Thread] = set()
        self._begun: dict[threading.Thread, float] = {}
        self._numbers = itertools.count()
        self._idle = 0
        self._pending = 0
        self._relieving = False
        self._closing = False

    def submit(self, job: Callable[[], None]) -> None:
        """Have a thread run `job`. After `close` it is dropped."""
        with self._lock:
            if self._closing:
                return
            self._pending += 1
            self._grow()
        self._jobs.put(job)

    def at_rest(self) -> bool:
        """Whether no job is queued or running."""
        with self._lock:
            return self._pending == 0 and self._idle == len(self._threads)

    def close(self, grace: float) -> bool:
        """Take no more jobs, drop those not begun, and wait up to `grace` real seconds for those that run.

        Returns whether all have ended. May be called from a job: its own thread is not waited for.
        """
        with self._lock:
            self._closing = True
            self._relief.notify_all()
            threads = list(self._threads)
            self._pending += len(threads)
            with contextlib.suppress(queue.Empty):
                while True:
                    self._jobs.get_nowait()
                    self._pending -= 1
        for _ in threads:
            self._jobs.put(None)
        until = time.monotonic() + grace
        others = [thread for thread in threads if thread is not threading.current_thread()]
        for thread in others:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in others)

    def _grow(self) -> None:
        """One more thread, if a job waits for one and may have it; if it may not yet, look again later."""
        if self._pending <= self._idle or self._closing:
            return
        if self._at_work() + self._idle < self._size and len(self._threads) < MOST_THREADS:
            self._start(self._run, next(self._numbers))
            self._idle += 1
        elif not self._relieving:
            self._relieving = True
            self._start(self._relieve, "relief")

    def _at_work(self) -> int:
        """How many threads have not been at their job for long."""
        since = time.monotonic() - self._busy_seconds
        return sum(begun > since for begun in self._begun.values())

    def _start(self, target: Callable[[], None], name: object) -> None:
        thread = threading.Thread(target=target, name=f"{self._name}-{name}", daemon=True)
        if target == self._run:
            self._threads.add(thread)
        thread.start()

    def _relieve(self) -> None:
        """The thread that looks again, as long as a job waits."""
        with self._lock:
            while self._pending > self._idle and not self._closing:
                self._relief.wait(self._busy_seconds / 4)
                for _ in range(self._pending - self._idle):
                    self._grow()
            self._relieving = False

    def _run(self) -> None:
        me = threading.current_thread()
        while True:
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
                self._pending -= 1
                if job is None:
                    self._threads.discard(me)
                    return
                self._begun[me] = time.monotonic()
            try:
                job()
            except BaseException:  # noqa: BLE001 - the thread must live on; it is logged
                _log.exception("a job of the interpreter failed")
            job = None
            with self._lock:
                del self._begun[me]
                if len(self._threads) > self._size and self._pending == 0 and not self._closing:
                    self._threads.discard(me)
                    return
                self._idle += 1


class Timers:
    """One timer per key; each calls `fire(key, mark)` at its time, in the timer's thread.

    On a movable clock it is called in the thread that moves the clock, before that returns.
    """

    def __init__(self, clock: TimedClock, fire: Callable[[Hashable, int], None]) -> None:
        self._clock = clock
        self._fire = fire
        self._changed = threading.Condition(threading.Lock())
        self._firing = threading.RLock()
        self._armed: dict[Hashable, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, Hashable, int]] = []
        self._order = itertools.count()
        self._wakes_at = 0.0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="parley-timers", daemon=True)
        self._unsubscribe: Callable[[], None] = lambda: None

    def start(self) -> None:
        """From now on timers fire."""
        self._unsubscribe = self._clock.subscribe(self.fire_due)
        self._thread.start()

    def arm(self, key: Hashable, due: float, mark: int) -> None:
        """Fire `key` at `due` (epoch seconds) with `mark`, in place of what was armed for it."""
        with self._changed:
            self._armed[key] = (due, mark)
            heapq.heappush(self._heap, (due, next(self._order), key, mark))
            if len(self._heap) > 1000 + 2 * len(self._armed):
                self._compact()
            if due < self._wakes_at:
                self._changed.notify()

    def disarm(self, key: Hashable) -> None:
        """Forget the timer of `key`, if there is one."""
        with self._changed:
            self._armed.pop(key, None)

    def fire_due(self) -> None:
        """Fire all that is due by now."""
        while True:
            # One at a time: who moved the clock must find all that became due fired, by whichever thread.
            with self._firing:
                with self._changed:
                    due = self._next_due()
                    if self._closed or due is None or due > self._clock.now():
                        return
                    _, _, key, mark = heapq.heappop(self._heap)
                    del self._armed[key]
                self._fire_one(key, mark)

    def _fire_one(self, key: Hashable, mark: int) -> None:
        try:
            self._fire(key, mark)
        except Exception:  # noqa: BLE001 - the other timers must still fire; it is logged
            _log.exception("a timer of the interpreter failed")

    def close(self, grace: float) -> None:
        """Fire no more; wait up to `grace` real seconds for one that fires."""
        self._unsubscribe()
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(grace)

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                due = self._next_due()
                delay = None if due is None else self._clock.real_delay(due)
                if delay is None or delay > 0:
                    self._wakes_at = float("inf") if due is None else due
                    # Look again now and then: the machine's clock may be set, or it may have slept.
                    self._changed.wait(delay if delay is None else min(delay, _LONGEST_WAIT))
                    self._wakes_at = 0.0
                    continue
            self.fire_due()

    def _next_due(self) -> float | None:
        """When the first armed timer is due; drops what was replaced or forgotten on the way."""
        while self._heap:
            due, _, key, mark = self._heap[0]
            if self._armed.get(key) == (due, mark):
                return due
            heapq.heappop(self._heap)
        return None

    def _compact(self) -> None:
        self._heap = [entry for entry in self._heap if self._armed.get(entry[2]) == (entry[0], entry[3])]
        heapq.heapify(self._heap)
