"""The interpreter's tables: what an execution looks like in SQLite, written and read.

execution: one row each, changed only when it starts and when it closes. branch: one row per position of a
running execution, gone when it closes; the wait it stands in, its serial the fence of every change. visit:
the states that were left, no payloads. definition: every definition an execution was started with, so that
one that runs while the program is updated goes on with its own.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from parley.embedded.asl import data as json_data
from parley.embedded.asl.definition import Machine
from parley.embedded.asl.errors import RUNTIME
from parley.embedded.interpreter.live import Branch, LiveExecution, Status, Visit
from parley.embedded.interpreter.types import Execution
from parley.turns.ports import ExecutionStatus, StateVisit

SCHEMA = """
CREATE TABLE IF NOT EXISTS execution (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, machine TEXT NOT NULL, definition TEXT NOT NULL,
    nested INTEGER NOT NULL, status TEXT NOT NULL, input TEXT NOT NULL, output TEXT, error TEXT, cause TEXT,
    start_date REAL NOT NULL, stop_date REAL, events INTEGER NOT NULL, transitions INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS execution_running ON execution (id) WHERE status = 'RUNNING';
CREATE INDEX IF NOT EXISTS execution_closed ON execution (stop_date) WHERE stop_date IS NOT NULL;
CREATE TABLE IF NOT EXISTS branch (
    execution INTEGER NOT NULL, path TEXT NOT NULL, serial INTEGER NOT NULL, state TEXT NOT NULL,
    status TEXT NOT NULL, data TEXT NOT NULL, visit INTEGER NOT NULL, entered_at REAL NOT NULL,
    due REAL, more TEXT NOT NULL, PRIMARY KEY (execution, path)
);
CREATE TABLE IF NOT EXISTS visit (
    execution INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
    path TEXT NOT NULL, entered_at REAL NOT NULL, exited_at REAL NOT NULL, outcome TEXT NOT NULL,
    error TEXT, retries INTEGER NOT NULL, PRIMARY KEY (execution, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS definition (hash TEXT PRIMARY KEY, machine TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS interpreter (name TEXT PRIMARY KEY, value BLOB NOT NULL);
"""

_INSERT_EXECUTION = (
    "INSERT INTO execution (id, name, machine, definition, nested, status, input, start_date, events,"
    " transitions) VALUES (?, ?, ?, ?, ?, 'RUNNING', ?, ?, 0, 0)"
)
_CLOSE_EXECUTION = (
    "UPDATE execution SET status = ?, output = ?, error = ?, cause = ?, stop_date = ?, events = ?,"
    " transitions = ? WHERE id = ? AND status = 'RUNNING'"
)
_INSERT_BRANCH = "INSERT INTO branch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE_BRANCH = (
    "UPDATE branch SET serial = ?, state = ?, status = ?, data = ?, visit = ?, entered_at = ?, due = ?,"
    " more = ? WHERE execution = ? AND path = ? AND serial = ?"
)
_DELETE_BRANCH = "DELETE FROM branch WHERE execution = ? AND path = ? AND serial = ?"
_INSERT_VISIT = "INSERT INTO visit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_EXECUTION_COLUMNS = (
    "name, machine, status, input, start_date, stop_date, output, error, cause, transitions, events, id"
)


class Fenced(Exception):
    """Somebody else has changed this execution: what we wanted to save is void."""


def save(executions: Sequence[LiveExecution]) -> Callable[[sqlite3.Connection], None]:
    """The operation that writes the changes of `executions` in one transaction. It may run more than once.

    Raises Fenced if a row is not as we last saved it.
    """
    statements: list[tuple[str, Sequence[Any]]] = []
    for execution in executions:
        _collect(execution, statements)

    def operation(connection: sqlite3.Connection) -> None:
        for sql, values in statements:
            if connection.execute(sql, values).rowcount != 1:
                raise Fenced

    return operation


def _collect(execution: LiveExecution, statements: list[tuple[str, Sequence[Any]]]) -> None:
    if execution.is_new:
        values: Sequence[Any] = (
            execution.id,
            execution.name,
            execution.machine.id,
            execution.definition,
            execution.nested,
            execution.input,
            execution.started_at,
        )
        statements.append((_INSERT_EXECUTION, values))
    for branch in execution.touched:
        if branch.gone:
            if branch.saved:
                statements.append((_DELETE_BRANCH, (execution.id, branch.path, branch.saved)))
        elif branch.saved:
            key = (execution.id, branch.path, branch.saved)
            statements.append((_UPDATE_BRANCH, (*_branch_values(branch), *key)))
        else:
            statements.append((_INSERT_BRANCH, (execution.id, branch.path, *_branch_values(branch))))
    statements.extend((_INSERT_VISIT, visit) for visit in execution.visits)
    closing = execution.closing
    if closing is not None:
        ending = (closing.status.value, closing.output, closing.error, closing.cause, closing.at)
        counts = (execution.events, execution.transitions, execution.id)
        statements.append((_CLOSE_EXECUTION, (*ending, *counts)))


def saved(execution: LiveExecution) -> None:
    """The changes are committed: note that nothing is left to write."""
    for branch in execution.touched:
        branch.saved = branch.serial
        branch.touched = False
    execution.touched = []
    execution.visits = []
    execution.started = []
    execution.to_stop = []
    execution.is_new = False


def _branch_values(branch: Branch) -> tuple[Any, ...]:
    more = (
        f"[{branch.retries},{branch.redelivered},{branch.attempt},{branch.child or 'null'},{branch.events},"
        f"{branch.transitions},{branch.lease_until!r},{branch.tries}]"
    )
    return (
        branch.serial,
        branch.state.name,
        branch.status.value,
        branch.text,
        branch.visit,
        branch.entered_at,
        branch.due,
        more,
    )


def load(
    connection: sqlite3.Connection, execution_id: int, machine_of: Callable[[str], Machine]
) -> LiveExecution | None:
    """The LiveExecution with that id, None unless it runs. `machine_of` compiles a definition by its hash."""
    row = connection.execute(
        "SELECT name, definition, input, start_date FROM execution WHERE id = ? AND status = 'RUNNING'",
        (execution_id,),
    ).fetchone()
    if row is None:
        return None
    name, definition, text, started_at = row
    execution = LiveExecution(execution_id, name, machine_of(definition), definition, text, started_at)
    rows = connection.execute(
        "SELECT path, serial, state, status, data, visit, entered_at, due, more FROM branch"
        " WHERE execution = ? ORDER BY length(path), path",
        (execution_id,),
    )
    for branch_row in rows:
        _load_branch(execution, branch_row)
    last = connection.execute(
        "SELECT max(number) FROM visit WHERE execution = ?", (execution_id,)
    ).fetchone()[0]
    open_visits = (branch.visit for branch in execution.branches.values())
    execution.next_visit = max([last or 0, *open_visits]) + 1
    return execution


def _load_branch(execution: LiveExecution, row: tuple[Any, ...]) -> None:
    path, serial, state, status, text, visit, entered_at, due, more = row
    above, _, index = path.rpartition(".")
    parent = execution.branches[above] if path else None
    branch = Branch(path, parent, int(index) if path else 0)
    branch.state = execution.machine.states[state]
    branch.status = Status(status)
    branch.data, branch.text = json_data.decode(text), text
    branch.visit, branch.entered_at, branch.due = visit, entered_at, due
    branch.serial = branch.saved = serial
    retries, redelivered, attempt, child, events, transitions, lease_until, tries = json.loads(more)
    branch.retries, branch.redelivered, branch.attempt, branch.child = retries, redelivered, attempt, child
    branch.events, branch.transitions, branch.lease_until, branch.tries = (
        events,
        transitions,
        lease_until,
        tries,
    )
    if parent is not None:
        parent.children[branch.index] = branch
    execution.branches[path] = branch
    execution.events += events
    execution.transitions += transitions


def describe(connection: sqlite3.Connection, name: str) -> tuple[int, Execution] | None:
    """(id, record) of the execution with that name."""
    row = connection.execute(
        f"SELECT {_EXECUTION_COLUMNS} FROM execution WHERE name = ?",
        (name,),
    ).fetchone()
    return _record(connection, row)


def describe_by_id(connection: sqlite3.Connection, execution_id: int) -> tuple[int, Execution] | None:
    """(id, record) of the execution with that id."""
    row = connection.execute(
        f"SELECT {_EXECUTION_COLUMNS} FROM execution WHERE id = ?",
        (execution_id,),
    ).fetchone()
    return _record(connection, row)


def _record(connection: sqlite3.Connection, row: tuple[Any, ...] | None) -> tuple[int, Execution] | None:
    if row is None:
        return None
    name, machine, status, text, start, stop, output, error, cause, transitions, events, execution_id = row
    if status == ExecutionStatus.RUNNING:
        rows = connection.execute("SELECT more FROM branch WHERE execution = ?", (execution_id,))
        shares = [json.loads(more)[4:6] for (more,) in rows]
        events = sum(share[0] for share in shares)
        transitions = sum(share[1] for share in shares)
    record = Execution(
        name,
        machine,
        ExecutionStatus(status),
        text,
        start,
        stop,
        output,
        error,
        cause,
        transitions,
        events,
    )
    return execution_id, record


def abandon(connection: sqlite3.Connection, execution_id: int, at: float, cause: str) -> None:
    """Fail a running execution that cannot even be loaded."""
    connection.execute("DELETE FROM branch WHERE execution = ?", (execution_id,))
    values = (ExecutionStatus.FAILED.value, None, RUNTIME, cause, at, 0, 0, execution_id)
    connection.execute(_CLOSE_EXECUTION, values)


def forget(connection: sqlite3.Connection, before: float, limit: int) -> int:
    """Delete up to `limit` executions that closed before `before`, and their visits. How many."""
    rows = connection.execute(
        "SELECT id FROM execution WHERE stop_date IS NOT NULL AND stop_date < ? LIMIT ?", (before, limit)
    ).fetchall()
    connection.executemany("DELETE FROM visit WHERE execution = ?", rows)
    connection.executemany("DELETE FROM execution WHERE id = ?", rows)
    return len(rows)


def history(
    connection: sqlite3.Connection, execution_id: int, machine_of: Callable[[str], Machine]
) -> list[StateVisit]:
    """The visits of an execution, those still open too, in order of entry."""
    rows = connection.execute("SELECT * FROM visit WHERE execution = ? ORDER BY number", (execution_id,))
    visits = [(visit.number, _closed_visit(visit)) for visit in map(Visit._make, rows)]
    execution = load(connection, execution_id, machine_of)
    if execution is not None:
        branches = execution.branches.values()
        visits += [(branch.visit, _open_visit(branch)) for branch in branches if branch.visit]
    return [visit for _, visit in sorted(visits, key=lambda numbered: numbered[0])]


def _closed_visit(visit: Visit) -> StateVisit:
    return StateVisit(
        visit.name,
        visit.type,
        visit.entered_at,
        visit.exited_at,
        visit.outcome,
        visit.error,
        visit.retries,
        False,
        _iteration(visit.path),
    )


def _open_visit(branch: Branch) -> StateVisit:
    return StateVisit(
        name=branch.state.name,
        type=branch.state.type,
        entered_at=branch.entered_at,
        retries=branch.retries + branch.redelivered,
        waiting=branch.status in (Status.TOKEN, Status.WAIT, Status.RETRY),
        iteration=_iteration(branch.path),
    )


def _iteration(path: str) -> tuple[int, ...]:
    return tuple(int(index) for index in path.split(".")) if path else ()
