"""The embedded Step Functions: runs Amazon States Language machines in this process, durably.

Every execution is saved in the database at every wait; killed at any point and opened again, all go on.
Tasks run on worker threads under a claim that was saved before; an execution stays in its thread, state
after state, until it has to wait. Times come from the clock, so a movable one moves timeouts too.

A claim says which worker may finish a Task. A living worker's claim does not run out (TimeoutSeconds bounds
it); a dead worker's Task is handed out again at the end of its lease, at once when the interpreter is opened
again. Results that come late change nothing.
"""

import functools
import hashlib
import itertools
import json
import secrets
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from parley.embedded.asl import data as json_data
from parley.embedded.asl.definition import Machine
from parley.embedded.asl.loader import load
from parley.embedded.database import Database
from parley.embedded.interpreter import rows
from parley.embedded.interpreter.engine import Effects, Engine
from parley.embedded.interpreter.live import Branch, LiveExecution
from parley.embedded.interpreter.names import is_same_start
from parley.embedded.interpreter.recovery import recover
from parley.embedded.interpreter.threads import TimedClock
from parley.embedded.interpreter.types import (
    Execution,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    StartedExecution,
    StateMachineDoesNotExist,
    check_error,
    check_input,
    check_name,
    check_output,
)
from parley.turns.ports import StateVisit

# Real seconds that `close` waits for running Tasks.
_GRACE = 5.0
_KEPT_SECONDS = 90 * 86_400.0
# Other writers wait while a batch is deleted.
_FORGET_AT_ONCE = 200


class Interpreter:
    """Executions of some machines over one database.

    machines: id ("arn:aws:states:local:000000000000:stateMachine:NAME") → parsed definition; one that is not
    supported raises DefinitionError here. invoke(function, payload): the function's result; an exception is
    its error by class name; what is no Exception models a worker that dies. on_closed is called after the
    commit, in a worker. Names of executions are unique over all machines.
    """

    def __init__(
        self,
        database: Database,
        machines: Mapping[str, Mapping[str, Any]],
        invoke: Callable[[str, Any], Any],
        clock: TimedClock,
        *,
        workers: int = 32,
        lease_seconds: float = 60.0,
        on_closed: Callable[[Execution], None] | None = None,
    ) -> None:
        self._database = database
        self._definitions: dict[str, tuple[str, str]] = {}
        compiled: dict[str, tuple[Machine, str]] = {}
        for machine_id, definition in machines.items():
            machine = load(machine_id, definition)
            body = json.dumps(definition, sort_keys=True, separators=(",", ":"))
            key = hashlib.sha256(f"{machine_id}\n{body}".encode()).hexdigest()
            self._definitions[key] = (machine_id, body)
            compiled[machine_id] = (machine, key)
        self._engine = Engine(
            database,
            compiled,
            invoke,
            clock,
            workers=workers,
            lease_seconds=lease_seconds,
            on_closed=on_closed,
        )

    def open(self, *, working: bool = True) -> None:
        """Take over what was running, then start the threads.

        Not ``working``: nothing moves, and what is started or answered is saved for the next opening.
        """
        epoch, key = self._database.write(self._prepare)
        self._engine.token_key = key
        # Unique over all openings: an interpreter that was dropped can save nothing over our changes.
        self._engine.serials = itertools.count(epoch << 32)
        if not working:
            self._engine.pool.close(0)
            return
        self.forget_closed(self._engine.now() - _KEPT_SECONDS)
        recover(self._engine)
        self._engine.timers.start()

    def close(self) -> None:
        """Stop the threads; running Tasks get a few seconds. The rest goes on at the next open."""
        engine = self._engine
        engine.closing = True
        engine.timers.close(_GRACE)
        engine.pool.close(_GRACE)

    def at_rest(self) -> bool:
        """Whether no worker has anything to do: every execution waits for time or a signal, or is closed."""
        return self._engine.pool.at_rest()

    def _prepare(self, connection: sqlite3.Connection) -> tuple[int, bytes]:
        for statement in rows.SCHEMA.split(";"):
            connection.execute(statement)
        for key, (machine_id, body) in self._definitions.items():
            connection.execute("INSERT OR IGNORE INTO definition VALUES (?, ?, ?)", (key, machine_id, body))
        settings = dict(connection.execute("SELECT name, value FROM interpreter").fetchall())
        epoch = int(settings.get("epoch", 0)) + 1
        token_key = settings.get("token_key") or secrets.token_bytes(32)
        values = [("epoch", epoch), ("token_key", token_key)]
        connection.executemany("INSERT OR REPLACE INTO interpreter VALUES (?, ?)", values)
        return epoch, token_key

    def start_execution(self, machine: str, name: str, input: str) -> StartedExecution:
        """Start an execution; durable when this returns, its first Task is then on its way.

        The same name, machine and input while it runs finds the running one. Raises InvalidName,
        InvalidExecutionInput, StateMachineDoesNotExist, ExecutionAlreadyExists or StorageError.
        """
        check_name(name)
        check_input(input)
        engine = self._engine
        if machine not in engine.names.machines:
            raise StateMachineDoesNotExist(f"there is no state machine {machine!r}")
        found = engine.names.reserve(name)
        try:
            if found is not None:
                if is_same_start(found[1], machine, input):
                    return StartedExecution(name, found[1].start_date, started=False)
                raise ExecutionAlreadyExists(f"the execution {name!r} already exists")
            effects = self._create(machine, name, input)
        finally:
            engine.names.release([name])
        engine.settle(effects)
        return StartedExecution(name, effects.execution.started_at, started=True)

    def _create(self, machine: str, name: str, text: str) -> Effects:
        engine = self._engine
        compiled, definition = engine.names.machines[machine]
        execution_id = next(engine.serials)
        execution = LiveExecution(execution_id, name, compiled, definition, text, engine.now(), is_new=True)
        data = json_data.decode(text)
        with execution.lock:
            engine.cache.add(execution)
            try:
                return engine.move(execution, lambda: engine.moves.begin(execution, data))
            except BaseException:
                engine.cache.discard(execution)
                raise

    def send_task_success(self, token: str, output: str) -> None:
        """Answer a task token with JSON. Durable when this returns.

        Raises InvalidOutput, InvalidToken, TaskTimedOut (used, or its try is over) or StorageError.
        """
        check_output(output)
        moves = self._engine.moves

        def succeed(execution: LiveExecution, branch: Branch) -> None:
            moves.succeed(execution, branch, json_data.decode(output), output)

        self._engine.workers.answer(token, succeed)

    def send_task_failure(self, token: str, error: str, cause: str) -> None:
        """Answer a task token with an error, for Retry and Catch. Raises as `send_task_success` does."""
        check_error(error, cause)
        moves = self._engine.moves

        def fail(execution: LiveExecution, branch: Branch) -> None:
            moves.fail(execution, branch, error, cause)

        self._engine.workers.answer(token, fail)

    def stop_execution(self, name: str, error: str = "", cause: str = "") -> None:
        """Abort an execution and what it nests; nothing if it is closed. Raises ExecutionDoesNotExist."""
        check_error(error, cause)
        execution_id, record = self._find(name)
        if record.stop_date is None:
            self._engine.wakes.stop(execution_id, error, cause)

    def describe_execution(self, name: str) -> Execution:
        """The execution as last saved. Raises ExecutionDoesNotExist."""
        return self._find(name)[1]

    def get_execution_history(self, name: str) -> list[StateVisit]:
        """The states it entered, in order, without their data. Raises ExecutionDoesNotExist."""
        execution_id, _ = self._find(name)
        machine_of = self._engine.names.machine_of
        return self._database.snapshot(lambda connection: rows.history(connection, execution_id, machine_of))

    def forget_closed(self, before: float) -> int:
        """Delete executions that closed before that instant: their names are free again. How many.

        Opening does it for those closed 90 days ago, which is how long Step Functions keeps them.
        """
        forgotten = 0
        while True:
            count = self._database.write(lambda connection: rows.forget(connection, before, _FORGET_AT_ONCE))
            forgotten += count
            if count < _FORGET_AT_ONCE:
                return forgotten

    def _find(self, name: str) -> tuple[int, Execution]:
        found = self._database.snapshot(functools.partial(rows.describe, name=name))
        if found is None:
            raise ExecutionDoesNotExist(f"there is no execution {name!r}")
        return found
