"""ContinueAsNew: hand the thread over to its next run."""

from __future__ import annotations

from typing import Any

from parley.domain.errors import StaleRun
from parley.domain.protocol import hand_over
from parley.turns import conversations
from parley.turns.accept_message import run_terms
from parley.turns.announce import tell
from parley.turns.projects import get_agent
from parley.turns.runtime import Runtime
from parley.turns.task import Task


def continue_as_new(runtime: Runtime, task: Task) -> dict[str, Any]:
    """The save makes the next run; starting it is a signal like any other. Safe to run again."""
    run_id = task.run.run_id
    stored = conversations.require(runtime, run_id.thread_id)
    if stored.value.run_id == run_id:
        agent = get_agent(runtime, stored.value.project_id, stored.value.agent_id)
        try:
            stored = conversations.change_stored(
                runtime,
                run_id.thread_id,
                lambda c: hand_over(c, run_id, run_terms(c, agent), runtime.clock.now()),
            )
        except StaleRun:
            stored = conversations.require(runtime, run_id.thread_id)
    if stored.value.run.generation == run_id.generation + 1:
        stored = tell(runtime, stored)
        conversations.send_signals(runtime, stored.value)
    return {}
