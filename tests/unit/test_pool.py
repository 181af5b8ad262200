"""The interpreter's workers: a job that hangs holds up no other."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from parley.embedded.interpreter.threads import Pool
from tests.support.waiting import wait_until


class Hanging:
    """Jobs that end when a test lets them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.begun = threading.Semaphore(0)
        self.end = threading.Event()

    def __call__(self) -> None:
        self.begun.release()
        self.end.wait(120)

    def fill(self, count: int) -> None:
        for _ in range(count):
            self._pool.submit(self)


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool(3, "test", busy_seconds=0.02)
    yield pool
    assert pool.close(10)


@pytest.fixture
def hanging(pool: Pool) -> Iterator[Hanging]:
    jobs = Hanging(pool)
    yield jobs
    jobs.end.set()


def names() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("test-")}


def test_jobs_that_hang_hold_up_no_others_and_their_threads_go_when_they_end(
    pool: Pool, hanging: Hanging
) -> None:
    hanging.fill(40)
    done = threading.Event()
    pool.submit(done.set)
    assert done.wait(120)
    assert not pool.at_rest()
    hanging.end.set()
    wait_until(pool.at_rest)
    wait_until(lambda: len(names()) <= 3)  # a thread ends a moment after its last job


def test_jobs_that_work_share_the_threads_there_are() -> None:
    pool = Pool(3, "test", busy_seconds=60)
    jobs = Hanging(pool)
    jobs.fill(9)
    for _ in range(3):
        assert jobs.begun.acquire(timeout=120)
    assert not jobs.begun.acquire(timeout=0.05)
    jobs.end.set()
    wait_until(pool.at_rest)
    assert pool.close(10)


def test_what_has_not_begun_when_it_closes_is_dropped(hanging: Hanging, pool: Pool) -> None:
    hanging.fill(3)
    for _ in range(3):
        assert hanging.begun.acquire(timeout=120)
    late: list[int] = []
    assert not pool.close(0)
    pool.submit(lambda: late.append(1))
    hanging.end.set()
    wait_until(lambda: not names())
    assert late == []
