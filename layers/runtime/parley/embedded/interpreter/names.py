"""Which names and machines there are: a name is used once, by whoever comes first."""

import json
import sqlite3
import threading
from collections.abc import Iterable

from parley.embedded.asl.definition import Machine
from parley.embedded.asl.errors import StateError
from parley.embedded.asl.loader import load
from parley.embedded.database import Database
from parley.embedded.interpreter import rows
from parley.embedded.interpreter.types import Execution, InvalidName, check_name
from parley.turns.ports import ExecutionStatus

_EXISTS = "StepFunctions.ExecutionAlreadyExistsException"
_UNKNOWN_MACHINE = "StepFunctions.StateMachineDoesNotExistException"
_INVALID_NAME = "StepFunctions.InvalidNameException"


class Names:
    """`machines`: id → (compiled, hash of the definition). Reserves names until their commit."""

    def __init__(self, database: Database, machines: dict[str, tuple[Machine, str]]) -> None:
        self.machines = machines
        self._database = database
        self._compiled = {definition: machine for machine, definition in machines.values()}
        self._freed = threading.Condition()
        self._reserved: set[str] = set()

    def reserve(self, name: str) -> tuple[int, Execution] | None:
        """Reserve `name` and wait if another start of it is under way; the execution if it is used already.

        Only for a caller that holds no other name: two that did could wait for each other.
        """
        with self._freed:
            self._freed.wait_for(lambda: name not in self._reserved)
            self._reserved.add(name)
        return self._look_up(name)

    def reserve_nested(self, machine: str, name: str, text: str) -> int | None:
        """Reserve a nested execution's name; its id if it runs already with this input. Raises StateError."""
        if machine not in self.machines:
            raise StateError(_UNKNOWN_MACHINE, f"There is no state machine {machine!r}.")
        try:
            check_name(name)
        except InvalidName as error:
            raise StateError(_INVALID_NAME, str(error)) from error
        with self._freed:
            if name in self._reserved:
                raise StateError(_EXISTS, f"The execution {name!r} already exists.")
            self._reserved.add(name)
        found = self._look_up(name)
        if found is None:
            return None
        self.release([name])
        if is_same_start(found[1], machine, text):
            return found[0]
        raise StateError(_EXISTS, f"The execution {name!r} already exists.")

    def release(self, names: Iterable[str]) -> None:
        """The starts of these names are committed or given up."""
        with self._freed:
            self._reserved.difference_update(names)
            self._freed.notify_all()

    def machine_of(self, definition: str) -> Machine:
        """The machine of a definition's hash, also of one that is no longer the present."""
        machine = self._compiled.get(definition)
        if machine is None:
            machine_id, body = self._database.snapshot(
                lambda connection: _read_definition(connection, definition)
            )
            machine = self._compiled[definition] = load(machine_id, json.loads(body))
        return machine

    def _look_up(self, name: str) -> tuple[int, Execution] | None:
        try:
            return self._database.snapshot(lambda connection: rows.describe(connection, name))
        except BaseException:
            self.release([name])
            raise


def is_same_start(found: Execution, machine: str, text: str) -> bool:
    """Whether starting `machine` with `text` again is the start of `found`, which still runs."""
    if found.status is not ExecutionStatus.RUNNING or found.machine != machine:
        return False
    return found.input == text or json.loads(found.input) == json.loads(text)


def _read_definition(connection: sqlite3.Connection, definition: str) -> tuple[str, str]:
    row: tuple[str, str] = connection.execute(
        "SELECT machine, body FROM definition WHERE hash = ?", (definition,)
    ).fetchone()
    return row
