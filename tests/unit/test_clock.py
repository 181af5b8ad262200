"""The two clocks."""

import threading
import time

import pytest

from parley.clock import MovableClock, SystemClock


def test_a_movable_clock_stands_still_until_it_is_moved() -> None:
    clock = MovableClock(100.0)
    assert clock.now() == 100.0
    clock.advance(86_400)
    assert clock.now() == 86_500.0
    with pytest.raises(ValueError, match="forward"):
        clock.advance(-1)


def test_a_sleeper_wakes_when_the_clock_has_moved_far_enough() -> None:
    clock = MovableClock()
    awake = threading.Event()

    def sleep() -> None:
        clock.sleep(60)
        awake.set()

    sleeper = threading.Thread(target=sleep)
    sleeper.start()
    assert clock.wait_for_sleepers(1)
    clock.advance(59)
    assert not awake.is_set()
    clock.advance(1)
    sleeper.join(120)
    assert awake.is_set()


def test_subscribers_are_called_after_each_move_until_they_leave() -> None:
    clock = MovableClock(0.0)
    seen: list[float] = []
    unsubscribe = clock.subscribe(lambda: seen.append(clock.now()))
    clock.advance(1)
    clock.advance(2)
    unsubscribe()
    clock.advance(3)
    assert seen == [1.0, 3.0]


def test_a_wait_on_a_movable_clock_is_until_told() -> None:
    clock = MovableClock(0.0)
    assert (clock.real_delay(0.0), clock.real_delay(1.0)) == (0.0, None)


def test_the_system_clock_is_the_machines() -> None:
    clock = SystemClock()
    assert abs(clock.now() - time.time()) < 5
    assert clock.real_delay(clock.now() - 1) == 0.0
    assert 0 < (clock.real_delay(clock.now() + 60) or 0) <= 60
    clock.sleep(0)
    clock.subscribe(pytest.fail)()


def test_a_machines_clock_that_is_set_goes_forward_here_and_never_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SystemClock()
    before, hour, shipped = clock.now(), 3600.0, time.time
    for offset, expected in ((-hour, 0.0), (hour, hour), (0.0, hour), (3 * hour, 3 * hour)):
        monkeypatch.setattr(time, "time", lambda by=offset: shipped() + by)
        assert expected <= clock.now() - before < expected + 60
    assert 0 < (clock.real_delay(clock.now() + 2) or 0) <= 2
