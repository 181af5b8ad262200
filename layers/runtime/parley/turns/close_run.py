"""CloseRun: inactivity ends the run, not the thread."""

from __future__ import annotations

from typing import Any

from parley.domain.conversation import RunStatus
from parley.domain.errors import StaleRun
from parley.domain.events import EventName, NewEvent
from parley.domain.protocol import close_run as close
from parley.domain.protocol import note_seq
from parley.turns import conversations
from parley.turns.closing import record_run
from parley.turns.event_log import EventLog
from parley.turns.runtime import Runtime
from parley.turns.task import Task


def close_run(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"next"}``: back to ReceiveMessage if a message came in the instant of the time-out."""
    run_id = task.run.run_id
    conversation = conversations.get(runtime, run_id.thread_id)
    if conversation.run_id != run_id:
        return {"next": "RunClosed"}
    if conversation.run.status is not RunStatus.CLOSED:
        record_run(runtime, conversation, "inactive")
        try:
            conversation = conversations.change(runtime, run_id.thread_id, lambda c: close(c, run_id))
        except StaleRun:
            return {"next": "RunClosed"}
    if conversation.run.status is not RunStatus.CLOSED:
        return {"next": "ReceiveMessage"}
    log = EventLog(runtime, conversation, rerun=True)
    log.append(
        NewEvent(
            event=EventName.RunEnded,
            event_id=f"run:{run_id.generation}:ended",
            turn=conversation.turns,
            data={"generation": run_id.generation, "reason": "inactive"},
        )
    )
    conversations.change(runtime, run_id.thread_id, lambda c: note_seq(c, log.last_seq))
    return {"next": "RunClosed"}
