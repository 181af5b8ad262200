"""One function called and waited for: not longer than its limit, and not after its turn was cancelled.

The call runs in a thread of its own, which nobody can stop: one that goes on after its limit is left to itself, and
what it returns is dropped. It is a daemon, so it keeps no process alive; and none of a pool, so no other call waits
for it.
"""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
import time
from collections.abc import Callable

from parley.domain.errors import StoreUnavailable
from parley.turns.function_ports import FunctionCall, FunctionOutcome, RemoteCall, stopped
from parley.turns.runtime import Runtime
from parley.turns.task import Task, enter

_LOG = logging.getLogger("parley.functions")
PERHAPS = "It may or may not have acted."


def run_function(
    runtime: Runtime, task: Task, name: str, call: FunctionCall | RemoteCall, seconds: float
) -> FunctionOutcome:
    """What the function came to. Raises StaleRun if another run took over meanwhile, and what ``call`` raises."""

    def may_go_on() -> bool:
        try:
            return not enter(runtime, task).conversation.cancelled
        except StoreUnavailable:
            return True  # it is asked again; a retry of this task would run the function once more

    fence_seconds = runtime.settings.fence_seconds
    return wait_for(lambda: runtime.functions.call(call), name, seconds, fence_seconds, may_go_on)


def wait_for(
    run: Callable[[], FunctionOutcome],
    name: str,
    seconds: float,
    fence_seconds: float,
    may_go_on: Callable[[], bool],
) -> FunctionOutcome:
    """What ``run`` comes to within ``seconds``, and before ``may_go_on``, which is asked now and then, says no.

    Measured with a clock that tests do not move, as what is waited for is.
    """
    answers: queue.SimpleQueue[FunctionOutcome | BaseException] = queue.SimpleQueue()
    given_up = threading.Event()
    context = contextvars.copy_context()
    threading.Thread(
        target=context.run, args=(_run, run, name, answers, given_up), name=f"function-{name}", daemon=True
    ).start()
    ends = time.monotonic() + seconds
    try:
        while True:
            left = ends - time.monotonic()
            try:
                answer = answers.get(timeout=max(0.0, min(left, fence_seconds)))
            except queue.Empty:
                if left <= fence_seconds:
                    words = f"{name} did not finish within {seconds:g} s. {PERHAPS}"
                    return FunctionOutcome(words, ok=False)
                if not may_go_on():
                    return stopped(f"The user cancelled this turn while {name} was running. {PERHAPS}")
                continue
            if isinstance(answer, BaseException):
                raise answer
            return answer
    finally:
        given_up.set()


def _run(
    run: Callable[[], FunctionOutcome],
    name: str,
    answers: queue.SimpleQueue[FunctionOutcome | BaseException],
    given_up: threading.Event,
) -> None:
    """The call's thread: its outcome or its error, for whoever still waits."""
    answer: FunctionOutcome | BaseException
    try:
        answer = run()
    except BaseException as error:  # noqa: BLE001 - handed over to the task, which raises it
        answer = error
    if given_up.is_set():
        _LOG.warning("%s ended after nobody waited for it any more", name)
    answers.put(answer)
