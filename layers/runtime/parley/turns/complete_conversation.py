"""CompleteConversation: the person ended the conversation for good."""

from __future__ import annotations

from typing import Any

from parley.domain.conversation import Phase, RunStatus, record_of
from parley.domain.protocol import complete
from parley.turns import conversations
from parley.turns.accepted import mark_applied, read_accepted
from parley.turns.announce import event_of, tell
from parley.turns.event_log import EventLog
from parley.turns.runtime import Runtime
from parley.turns.task import Task


def complete_conversation(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Event, marker, the save that ends it all, its record; safe to run again.

    The event may come before the save: nothing keeps this state from being reached again.
    """
    run_id = task.run.run_id
    stored = conversations.require(runtime, run_id.thread_id)
    conversation = stored.value
    if conversation.run_id != run_id:
        return {}
    if conversation.run.status is not RunStatus.CLOSED:
        over = record_of(conversation.run, Phase.COMPLETED.value, stopped_at=runtime.clock.now())
        EventLog(runtime, conversation, rerun=task.rerun).append(event_of(conversation, over))
        if conversation.run.message_id:
            accepted = read_accepted(runtime, conversation.thread_id, conversation.run.message_id)
            mark_applied(runtime, conversation.thread_id, accepted, conversation.turns)
        stored = conversations.change_stored(
            runtime, run_id.thread_id, lambda c: complete(c, run_id, now=runtime.clock.now()), known=stored
        )
    tell(runtime, stored)
    return {}
