"""CompleteConversation: the person ended the conversation for good."""

from __future__ import annotations

from typing import Any

from parley.domain.conversation import Phase, RunStatus
from parley.domain.events import EventName, NewEvent
from parley.domain.protocol import complete
from parley.turns import conversations
from parley.turns.accepted import mark_applied, read_accepted
from parley.turns.closing import record_run
from parley.turns.event_log import EventLog
from parley.turns.runtime import Runtime
from parley.turns.task import Task


def complete_conversation(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Event, record, marker, then the save that ends it all; safe to run again."""
    run_id = task.run.run_id
    conversation = conversations.get(runtime, run_id.thread_id)
    if conversation.run_id != run_id or conversation.run.status is RunStatus.CLOSED:
        return {}
    log = EventLog(runtime, conversation, rerun=task.rerun)
    log.append(
        NewEvent(
            event=EventName.ConversationCompleted,
            event_id="completed",
            turn=conversation.turns,
            data={"reason": "ended"},
        )
    )
    if conversation.run.message_id:
        accepted = read_accepted(runtime, conversation.thread_id, conversation.run.message_id)
        mark_applied(runtime, conversation.thread_id, accepted, conversation.turns)
    record_run(runtime, conversation, Phase.COMPLETED.value)
    conversations.change(
        runtime,
        run_id.thread_id,
        lambda c: complete(c, run_id, last_seq=log.last_seq, now=runtime.clock.now()),
    )
    return {}
