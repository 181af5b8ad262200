"""One conversation on the embedded backend, whose workers die: what its person does, and what the world does about it.

A client whose request got no answer sends it again, with the same id. A process that died is followed by another over
the same data folder. Time passes by the minute, and repair with it, until all is at rest.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parley import wiring
from parley.clock import MovableClock
from parley.turns.runtime import Runtime
from tests.faults.person import INACTIVITY, Lost, Person
from tests.faults.process import Process
from tests.support.faulty import Died
from tests.support.mortal import Fate

MINUTE = 60.0
PATIENCE = 45
"""Minutes within which everything comes to rest: less than any confirmation or inactivity time of the scenarios."""


class Stage(Person):
    """An embedded installation with one conversation."""

    def __init__(self, folder: Path, fate: Fate, template: Path, functions: tuple[Any, ...]) -> None:
        super().__init__(fate)
        shutil.copytree(template, folder, dirs_exist_ok=True)
        self._folder = folder
        self._functions = functions
        self._inside = False
        self._process = self._open(MovableClock())
        self._begin()

    # What lives and dies.

    @property
    def runtime(self) -> Runtime:
        """The living process's."""
        return self._process.runtime

    @property
    def clock(self) -> MovableClock:
        """The living process's."""
        return self._process.clock

    def _open(self, clock: MovableClock) -> Process:
        return Process(
            self._folder,
            clock,
            self.fate,
            functions=self._functions,
            world=self.world,
            before=self._before,
        )

    def _begin(self) -> None:
        self._process.begin()
        self.connect(self.runtime)
        self.follower.catch_up()

    def _restart(self) -> None:
        """Until a process lives for long enough to begin."""
        while self.fate.dead:
            self._process.leave()
            self.fate.revive()
            self._process = self._open(MovableClock(self.clock.now()))
            try:
                self._begin()
            except Died:
                continue

    def close(self) -> None:
        """Leave the stage."""
        self.fate.playing = False
        self._process.leave()
        wiring.use(None)

    def waits_out(self) -> None:
        """The run's time is over, and nothing is left of it."""
        self.time_passes(INACTIVITY)
        self.closes()

    def _before(self, state: str) -> None:
        for act in self.hooks.pop(state, []):
            act()

    def recover(self) -> None:
        """A request had no answer: the process that it died in has a successor, unless a task of that process asks."""
        if self.fate.dead and self._inside:
            raise Died
        self._restart()

    # What the world does.

    def work(self) -> None:
        """All that there is to do now, whoever dies of it."""
        while True:
            self._inside = True
            try:
                self._process.work()
            except Died:
                pass
            finally:
                self._inside = False
            if not self.fate.dead:
                return
            self._restart()
            self._ask()

    def time_passes(self, seconds: float) -> None:
        """At once; then a pass of repair."""
        self.clock.advance(seconds)
        if seconds > MINUTE:
            self.connect(self.runtime)  # a socket does not last for so long
        self.work()
        try:
            self._process.repair({})
        except Died:
            self._restart()
        self.work()

    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Let time pass until the condition holds."""
        for _ in range(PATIENCE):
            self.work()
            if condition():
                return
            self.time_passes(MINUTE)
        raise Lost(f"not within {PATIENCE} minutes: {what}\n{self.where_it_stands()}")

    # What is looked at.

    def executions(self) -> list[tuple[str, str]]:
        """Every execution's name and status."""
        select = "SELECT name, status FROM execution ORDER BY id"
        return list(self._process.database.read(lambda connection: connection.execute(select).fetchall()))

    def where_it_stands(self) -> str:
        """For who waited in vain."""
        lines = [repr(self.aggregate(self.thread))] if self.thread else ["no thread"]
        for name, status in self.executions():
            lines.append(f"{name}: {status}")
            visits = self._process.interpreter.get_execution_history(name)[-5:]
            lines += [f"  {v.name} {v.iteration} {v.outcome} {v.error} retries={v.retries}" for v in visits]
        return "\n".join(lines)
