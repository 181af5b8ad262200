"""Opening again: what was running goes on from what was saved.

The old owner's claims are free at once; waits keep their times; nested executions that closed unheard are
heard, those that nobody waits for any more are stopped.
"""

import functools
import json
import logging
import sqlite3
from typing import Any

from parley.embedded.asl.errors import DefinitionError
from parley.embedded.interpreter import rows
from parley.embedded.interpreter.engine import Engine
from parley.embedded.interpreter.live import BranchKey, Status

_log = logging.getLogger(__name__)

_BRANCHES = (
    "SELECT execution, path, serial, status, due, more FROM branch ORDER BY execution, length(path), path"
)
_RUNNING = "SELECT id, definition, start_date, nested FROM execution WHERE status = 'RUNNING'"


def recover(engine: Engine) -> None:
    """Arm the timers, hand out the claims, begin what was only recorded."""
    executions, branches = engine.database.snapshot(_scan)
    lost = _give_up(engine, executions)
    executions = [row for row in executions if row[0] not in lost]
    branches = [row for row in branches if row[0] not in lost]
    begun = {row[0] for row in branches}
    awaited: set[int] = set()
    for execution, path, serial, status, due, more in branches:
        child = json.loads(more)[3]
        if status == Status.TASK:
            engine.submit(functools.partial(engine.wakes.redeliver, execution, path, serial))
        elif due is not None:
            engine.timers.arm(BranchKey(execution, path), due, serial)
        if status == Status.NESTED and child is not None:
            awaited.add(child)
            engine.await_child(child, execution, path)
            engine.submit(functools.partial(engine.wakes.nested_closed, execution, path))
    for execution, definition, started_at, nested in executions:
        seconds = engine.names.machine_of(definition).timeout_seconds
        if seconds is not None:
            engine.timers.arm(BranchKey(execution, None), started_at + seconds, 0)
        if nested and execution not in awaited:
            engine.submit(functools.partial(engine.wakes.stop, execution, "", "Nobody waits for it."))
        elif execution not in begun:
            engine.submit(functools.partial(engine.wakes.begin, execution))


def _give_up(engine: Engine, executions: list[tuple[Any, ...]]) -> set[int]:
    """Fail executions whose definition this version cannot run any more, so that the others go on."""
    reasons: dict[int, str] = {}
    for execution, definition, _, _ in executions:
        try:
            engine.names.machine_of(definition)
        except DefinitionError as error:
            _log.error("an execution cannot go on: %s", error)
            reasons[execution] = str(error)

    def abandon(connection: sqlite3.Connection) -> None:
        for execution, reason in reasons.items():
            rows.abandon(connection, execution, engine.now(), reason)

    if reasons:
        engine.database.write(abandon)
    return set(reasons)


def _scan(connection: sqlite3.Connection) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    return connection.execute(_RUNNING).fetchall(), connection.execute(_BRANCHES).fetchall()
