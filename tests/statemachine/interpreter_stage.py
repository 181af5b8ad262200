"""An interpreter over a folder that can be dropped as if the process had died, and opened again."""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from parley.clock import MovableClock
from parley.embedded.database import Database
from parley.embedded.interpreter import Execution, Interpreter

T = TypeVar("T")

BOUND = 120.0
PREFIX = "arn:aws:states:local:000000000000:stateMachine:"
MAIN = f"{PREFIX}main"
CHILD = f"{PREFIX}child"


class Killed(BaseException):
    """The process is dead: nothing it does takes effect any more."""


class MortalDatabase(Database):
    """A database whose process dies at its `at`-th write, just before the commit or just after it."""

    def __init__(self, path: Path, *, at: int | None = None, after_commit: bool = False) -> None:
        super().__init__(path)
        self._at = at
        self._after_commit = after_commit
        self._count = 0
        self._counting = threading.Lock()
        self.dead = threading.Event()

    def write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        with self._counting:  # one at a time, so that "after it" means before any other
            self._alive()
            self._count += 1
            if self._count != self._at:
                return super().write(operation)
            if self._after_commit:
                super().write(operation)
            self.dead.set()
            raise Killed

    def dies_next(self) -> None:
        """The next write is the one."""
        self._at = self._count + 1

    def read(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        self._alive()
        return super().read(operation)

    def _alive(self) -> None:
        if self.dead.is_set():
            raise Killed


class Stage:
    """Interpreters over one file, one after the other; `functions` answers (name, payload)."""

    def __init__(
        self,
        folder: Path,
        machines: Mapping[str, Mapping[str, Any]],
        functions: Callable[[str, Any], Any],
        **options: Any,
    ) -> None:
        self.path = folder / "interpreter.sqlite"
        self.clock = MovableClock()
        self.closed: list[Execution] = []
        self._machines = {f"{PREFIX}{name}": machine for name, machine in machines.items()}
        self._functions = functions
        self._options = options
        self._all: list[tuple[Interpreter, Database]] = []
        self.database: Database = Database(self.path)
        self.interpreter = self.open(self.database)

    def open(self, database: Database | None = None) -> Interpreter:
        """A new interpreter over the file; the one before is left as it is, as after a crash."""
        self.database = database or Database(self.path)
        self.interpreter = Interpreter(
            self.database,
            self._machines,
            self._functions,
            self.clock,
            on_closed=self.closed.append,
            **self._options,
        )
        self._all.append((self.interpreter, self.database))
        self.interpreter.open()
        return self.interpreter

    def close(self) -> None:
        """Close all of them."""
        for interpreter, database in self._all:
            interpreter.close()
            database.close()

    def start(self, name: str = "x", data: Any = None, machine: str = MAIN) -> None:
        """Start an execution."""
        self.interpreter.start_execution(machine, name, json.dumps({} if data is None else data))

    def rest(self) -> None:
        """Wait until nothing runs."""
        wait_until(self.interpreter.at_rest)

    def finish(self, name: str = "x", *, step: float = 1.0) -> Execution:
        """Let time pass until the execution is closed."""
        until = time.monotonic() + BOUND
        while (execution := self.interpreter.describe_execution(name)).status == "RUNNING":
            assert time.monotonic() < until, self.interpreter.get_execution_history(name)
            if self.interpreter.at_rest():
                self.clock.advance(step)
            time.sleep(0)
        return execution


Make = Callable[..., Stage]
"""A stage with one machine, and functions: what the fixture ``make`` gives."""


def wait_until(condition: Callable[[], Any]) -> None:
    """Wait, within a bound, until `condition` holds."""
    until = time.monotonic() + BOUND
    while not condition():
        assert time.monotonic() < until
        time.sleep(0)
