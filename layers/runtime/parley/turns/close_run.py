"""CloseRun: inactivity ends the run, not the thread."""

from __future__ import annotations

from typing import Any

from parley.domain.conversation import RunStatus
from parley.domain.errors import StaleRun
from parley.domain.protocol import close_run as close
from parley.turns import conversations
from parley.turns.announce import tell
from parley.turns.runtime import Runtime
from parley.turns.task import Task


def close_run(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"next"}``: back to ReceiveMessage if a message came in the instant of the time-out."""
    run_id = task.run.run_id
    stored = conversations.require(runtime, run_id.thread_id)
    if stored.value.run.status is not RunStatus.CLOSED:
        try:
            stored = conversations.change_stored(
                runtime, run_id.thread_id, lambda c: close(c, run_id, runtime.clock.now()), known=stored
            )
        except StaleRun:
            return {"next": "RunClosed"}
    if stored.value.run.status is not RunStatus.CLOSED:
        return {"next": "ReceiveMessage"}
    tell(runtime, stored)
    return {"next": "RunClosed"}
