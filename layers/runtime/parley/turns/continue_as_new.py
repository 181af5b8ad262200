"""ContinueAsNew: hand the thread over to its next run."""

from __future__ import annotations

from typing import Any

from parley.domain.conversation import Conversation
from parley.domain.errors import StaleRun
from parley.domain.events import EventName, NewEvent
from parley.domain.protocol import hand_over, note_seq
from parley.turns import conversations
from parley.turns.accept_message import run_terms
from parley.turns.closing import record_run
from parley.turns.event_log import EventLog
from parley.turns.projects import get_agent
from parley.turns.runtime import Runtime
from parley.turns.task import Task


def continue_as_new(runtime: Runtime, task: Task) -> dict[str, Any]:
    """The save makes the next run; starting it is a signal like any other. Safe to run again."""
    run_id = task.run.run_id
    conversation = conversations.get(runtime, run_id.thread_id)
    if conversation.run_id == run_id:
        record_run(runtime, conversation, "continued")
        agent = get_agent(runtime, conversation.project_id, conversation.agent_id)
        try:
            conversation = conversations.change(
                runtime,
                run_id.thread_id,
                lambda c: hand_over(c, run_id, run_terms(c, agent), runtime.clock.now()),
            )
        except StaleRun:
            conversation = conversations.get(runtime, run_id.thread_id)
    if conversation.run.generation == run_id.generation + 1:
        _announce(runtime, conversation)
        conversations.send_signals(runtime, conversation)
    return {}


def _announce(runtime: Runtime, conversation: Conversation) -> None:
    """Said before the next run's first turn, or not at all: what stands behind that turn's beginning is not read.

    Read as by a rerun: repair may have started that run long ago.
    """
    if conversation.turn is not None or conversation.run.turns:
        return
    generation = conversation.run.generation
    log = EventLog(runtime, conversation, rerun=True)
    log.append(
        NewEvent(
            event=EventName.RunContinued,
            event_id=f"run:{generation}:continued",
            turn=conversation.turns,
            data={"generation": generation},
        )
    )
    conversations.change(runtime, conversation.thread_id, lambda c: note_seq(c, log.last_seq))
