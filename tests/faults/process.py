"""A process of the embedded backend that dies at command, and its successor over the same data folder.

It is the shipped installation with the shipped state machine. Its jobs and timers run when the test says so, in the
test's thread, one at a time: the same death has the same consequences each time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast
from unittest import mock

from on_schedule.repair import handler as repair
from on_task.dispatch import handler
from parley import assets, installation, wiring
from parley.clock import MovableClock
from parley.embedded.asl.definition import Machine
from parley.embedded.asl.loader import load
from parley.embedded.database import Database
from parley.embedded.interpreter import Execution, service
from parley.embedded.interpreter.threads import Pool, Timers
from parley.installation import Choices, Installation, open_folder
from parley.tools import registry
from parley.tools.function import Function
from parley.turns.ports import ExecutionStatus
from parley.turns.runtime import Runtime, Settings
from tests.support.faulty import Died
from tests.support.mortal import Fate, MortalDatabase
from tests.support.mortal_world import Outside, mortal_runtime

SETTINGS = Settings(chunk_seconds=0.0, fence_seconds=1e9)
"""Every delta is an event at once, and no real time decides what is called."""


@cache
def _loaded(machine: str) -> Machine:
    return load(machine, assets.definition({f"{name}Arn": name for name in assets.TASK_FUNCTIONS}))


def _open(folder: Path, clock: MovableClock) -> Installation:
    """Without what takes long and has nothing to do with durability: keys to sign with, packs, a machine's reading."""
    choices = Choices(secrets=_NoSecrets(), settings=SETTINGS, packs=(), workers=1)
    with (
        mock.patch.object(installation, "LocalIssuer"),
        mock.patch.object(registry, "_from_entry_points", list),
        mock.patch.object(service, "load", lambda machine, _: _loaded(machine)),
    ):
        return open_folder(folder, choices, clock)


class _NoSecrets:
    def get(self, name: str) -> str | None:
        return None


class _Jobs:
    """The interpreter's workers, of which there is one: the test."""

    def __init__(self) -> None:
        self._jobs: deque[Callable[[], None]] = deque()

    def submit(self, job: Callable[[], None]) -> None:
        self._jobs.append(job)

    def at_rest(self) -> bool:
        return not self._jobs

    def close(self, grace: float) -> bool:
        return True

    def run(self, fate: Fate) -> None:
        """All that there is, and what comes of it."""
        while self._jobs and not fate.dead:
            self._jobs.popleft()()


class _Timers(Timers):
    """They fire when ``fire_due`` is called: no thread waits for them."""

    def start(self) -> None:
        pass


class Process:
    """An open data folder. ``before`` is told of every task that is about to be invoked."""

    def __init__(
        self,
        folder: Path,
        clock: MovableClock,
        fate: Fate,
        *,
        functions: tuple[type[Function], ...],
        world: Outside,
        before: Callable[[str], None],
    ) -> None:
        self.clock = clock
        self._fate = fate
        self._before = before
        self._installation = _open(folder, clock)
        self.interpreter = self._installation.interpreter
        self.database = self._installation.database
        self._jobs = _Jobs()
        self._timers = self._take_over()
        runtime = self._mortal(self._installation.runtime, functions, world)
        self._installation = replace(self._installation, runtime=runtime)

    @property
    def runtime(self) -> Runtime:
        """What its handlers work on."""
        return self._installation.runtime

    def _take_over(self) -> _Timers:
        """The interpreter's threads, functions and commits are the test's."""
        interpreter, engine = self.interpreter, self.interpreter._engine
        database = cast(Database, MortalDatabase(self.database, self._fate))
        interpreter._database = engine.database = engine.names._database = database
        engine.pool = cast(Pool, self._jobs)
        engine.timers = timers = _Timers(self.clock, cast(Callable[[Hashable, int], None], engine.wakes.fire))
        engine.invoke = self._invoke
        engine._on_closed = self._closed
        return timers

    def _mortal(self, inner: Runtime, functions: tuple[type[Function], ...], world: Outside) -> Runtime:
        with mock.patch.object(registry, "_from_entry_points", list):
            return mortal_runtime(inner, self._fate, world, functions)

    def begin(self) -> None:
        """As it begins to serve: the former process's work goes on."""
        wiring.use(self.runtime)
        self._installation.begin()

    def work(self) -> None:
        """Until there is nothing to do now."""
        self._timers.fire_due()
        while not self._fate.dead and not self._jobs.at_rest():
            self._jobs.run(self._fate)
            self._timers.fire_due()

    def leave(self) -> None:
        """The process is gone: what the system had given it is free, its file is as the last commit left it."""
        self._installation.knowledge.close()
        self.database.close()
        self._installation.lock.release()

    def _invoke(self, function: str, payload: Any) -> Any:
        if self._fate.dead:
            raise Died
        self._before(payload["state"])
        with self._fate.worker(payload["state"]):
            return handler(payload, None)

    def _closed(self, execution: Execution) -> None:
        """What ended badly is looked at at once."""
        if execution.status not in (ExecutionStatus.RUNNING, ExecutionStatus.SUCCEEDED):
            self.repair({"detail": {"name": execution.name}})

    def repair(self, event: dict[str, Any]) -> None:
        """One pass. If its worker dies of it, the next one comes."""
        try:
            with self._fate.worker("Repair"):
                repair(event, None)
        except Died:
            if self._fate.dead:
                raise
