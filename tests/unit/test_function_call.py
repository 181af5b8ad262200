"""A function is waited for no longer than its limit, and not after its turn was cancelled."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from parley.domain.errors import StaleRun, StoreUnavailable
from parley.turns import function_call
from parley.turns.function_ports import FunctionOutcome, stopped
from tests.support.waiting import wait_until

FINE = FunctionOutcome("fine")
_VARIABLE: ContextVar[str] = ContextVar("variable", default="none")


class Hanging:
    """A function that ends when a test lets it."""

    def __init__(self) -> None:
        self.begun, self.end, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self) -> FunctionOutcome:
        self.begun.set()
        self.end.wait(120)
        self.ended.set()
        return FINE


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    function = Hanging()
    yield function
    function.end.set()


def wait_for(
    run: Any, seconds: float = 10, fence: float = 0.01, may_go_on: Any = lambda: True
) -> FunctionOutcome:
    return function_call.wait_for(run, "slow", seconds, fence, may_go_on)


def test_what_a_function_comes_to_is_what_it_came_to() -> None:
    assert wait_for(lambda: FINE) == FINE


@pytest.mark.parametrize("error", [StoreUnavailable("throttled"), KeyboardInterrupt(), ZeroDivisionError()])
def test_what_a_function_raises_is_raised(error: BaseException) -> None:
    def breaks() -> FunctionOutcome:
        raise error

    with pytest.raises(type(error)):
        wait_for(breaks)


def test_a_function_that_hangs_is_given_up_after_its_limit(
    hanging: Hanging, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = wait_for(hanging, seconds=0.05)
    assert outcome == FunctionOutcome(
        "slow did not finish within 0.05 s. It may or may not have acted.", ok=False
    )
    assert not hanging.ended.is_set()
    with caplog.at_level(logging.WARNING):
        hanging.end.set()
        wait_until(lambda: "slow ended after nobody waited for it" in caplog.text)


def test_a_turn_that_is_cancelled_waits_no_longer(hanging: Hanging) -> None:
    outcome = wait_for(hanging, may_go_on=lambda: not hanging.begun.is_set())
    assert outcome == stopped(
        "The user cancelled this turn while slow was running. It may or may not have acted."
    )


def test_a_run_that_another_took_over_from_ends_with_its_error(hanging: Hanging) -> None:
    def may_go_on() -> bool:
        raise StaleRun("another one")

    with pytest.raises(StaleRun):
        wait_for(hanging, may_go_on=may_go_on)


def test_a_quick_function_costs_no_look() -> None:
    looks: list[int] = []
    assert wait_for(lambda: FINE, fence=1.0, may_go_on=lambda: looks.append(1)) == FINE
    assert looks == []


def test_functions_that_hang_keep_no_other_waiting(hanging: Hanging) -> None:
    for _ in range(100):
        wait_for(hanging, seconds=0.001)
    assert wait_for(lambda: FINE, seconds=5) == FINE


def test_a_function_runs_in_the_context_of_its_task() -> None:
    _VARIABLE.set("mine")
    assert wait_for(lambda: FunctionOutcome(_VARIABLE.get())).content == "mine"


def test_a_function_that_hangs_keeps_no_process_alive() -> None:
    program = (
        "import threading\n"
        "from parley.turns.function_call import wait_for\n"
        "print(wait_for(threading.Event().wait, 'slow', 0.1, 0.05, lambda: True).ok)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout.strip(), done.returncode) == ("False", 0), done.stderr
