"""The two clocks: the system's, and one that tests move.

Both tell epoch seconds. Whoever waits for an instant asks `real_delay` how long to block and
subscribes to be called when the clock is moved by hand; so one timer loop serves both clocks.
"""

import threading
import time
from collections.abc import Callable

# Seconds since the machine was started; on Linux those that it slept count too.
_TICKS = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """The machine's own time. It never goes back: a machine's clock that is set back goes on here from where it was.

    Otherwise whatever waits for an instant, such as a retry in two seconds, would wait for as much longer.
    """

    def __init__(self) -> None:
        self._started = float("-inf")  # when the machine was, epoch seconds

    def now(self) -> float:
        """Epoch seconds."""
        present, ticks = (
            time.time(),
            time.clock_gettime(_TICKS),
        )  # in this order: a pause between them does no harm
        self._started = max(self._started, present - ticks)
        return self._started + ticks

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds`."""
        time.sleep(max(0.0, seconds))

    def real_delay(self, until: float) -> float | None:
        """Real seconds to block until the instant `until`; None would mean "until told"."""
        return max(0.0, until - self.now())

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Real time never jumps, so `callback` is never called. Returns the unsubscriber."""
        return lambda: None


class MovableClock:
    """Time that stands still until `advance` moves it: 24 hours pass in a millisecond.

    `advance` wakes the sleepers that became due and calls every subscriber, in the caller's thread,
    before it returns: timers that became due have fired by then.
    """

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._moved = threading.Condition()
        self._sleepers = 0
        self._subscribers: dict[int, Callable[[], None]] = {}
        self._next_subscriber = 0

    def now(self) -> float:
        """Epoch seconds."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Block until the clock has been moved by `seconds`."""
        with self._moved:
            until = self._now + seconds
            self._sleepers += 1
            self._moved.notify_all()
            try:
                self._moved.wait_for(lambda: self._now >= until)
            finally:
                self._sleepers -= 1

    def wait_for_sleepers(self, count: int, timeout: float = 10.0) -> bool:
        """Wait, really and at most `timeout` seconds, until `count` threads sleep on this clock."""
        with self._moved:
            return self._moved.wait_for(lambda: self._sleepers >= count, timeout)

    def advance(self, seconds: float) -> None:
        """Move the clock forward, then wake sleepers and fire timers that became due."""
        if seconds < 0:
            raise ValueError("a clock moves forward only")
        with self._moved:
            self._now += seconds
            self._moved.notify_all()
            subscribers = list(self._subscribers.values())
        for callback in subscribers:
            callback()

    def real_delay(self, until: float) -> float | None:
        """Zero for an instant that has come; None ("until told") for any other."""
        return 0.0 if self._now >= until else None

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Have `callback` called after every move. Returns the unsubscriber."""
        with self._moved:
            key = self._next_subscriber
            self._next_subscriber += 1
            self._subscribers[key] = callback

        def unsubscribe() -> None:
            with self._moved:
                self._subscribers.pop(key, None)

        return unsubscribe
