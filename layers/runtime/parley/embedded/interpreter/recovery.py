"""Opening again: what was running goes on from what was saved.

The old owner's claims are free at once; waits keep their times; nested executions that closed unheard are
heard, those that nobody waits for any more are stopped.
"""

import functools
import json
import sqlite3
from typing import Any

from parley.embedded.interpreter.engine import Engine
from parley.embedded.interpreter.live import BranchKey, Status

_BRANCHES = (
    "SELECT execution, path, serial, status, due, more FROM branch ORDER BY execution, length(path), path"
)
_RUNNING = "SELECT id, definition, start_date, nested FROM execution WHERE status = 'RUNNING'"


def recover(engine: Engine) -> None:
    """Arm the timers, hand out the claims, begin what was only recorded."""
    executions, branches = engine.database.snapshot(_scan)
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


def _scan(connection: sqlite3.Connection) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    return connection.execute(_RUNNING).fetchall(), connection.execute(_BRANCHES).fetchall()
