"""ReceiveMessage: hand out the next message of the inbox, or park until one comes."""

from __future__ import annotations

from typing import Any

from parley.domain.conversation import RunStatus
from parley.domain.protocol import receive
from parley.turns import conversations
from parley.turns.announce import tell
from parley.turns.runtime import Runtime
from parley.turns.task import Task, enter


def receive_message(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Save first, then answer the own token: a wake that is lost here comes again with the retry."""
    token = task.token or ""
    stored = tell(runtime, enter(runtime, task).stored)
    run_id = task.run.run_id
    conversation = conversations.change(
        runtime, run_id.thread_id, lambda c: receive(c, run_id, token, task.order), known=stored
    )
    if conversation.run.status is not RunStatus.PARKED:
        runtime.orchestrator.wake(token)
    return {}
