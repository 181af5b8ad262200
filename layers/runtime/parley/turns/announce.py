"""The ends of runs: what a save owes the event log, and the chain of runs that people read.

The save that ends a run keeps what is to be told of it in the aggregate (``untold``). Whoever comes first tells it:
the state itself, the next ReceiveMessage, repair. All of them read the log from ``last_seq`` on, which does not move
before it is told, so it is told once; no turn opens before.
"""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.conversation import Conversation, Phase, RunRecord
from parley.domain.events import EventName, NewEvent
from parley.domain.protocol import told
from parley.turns import conversations
from parley.turns.event_log import EventLog
from parley.turns.records import Stored, put
from parley.turns.runtime import Runtime


def tell(runtime: Runtime, stored: Stored[Conversation]) -> Stored[Conversation]:
    """Record and log what is owed, and save that it is done; nothing is read or written if nothing is owed."""
    conversation = stored.value
    if not conversation.untold:
        return stored
    log = EventLog(runtime, conversation, rerun=True)
    log.append(*[event_of(conversation, over) for over in conversation.untold])
    partition = keys.thread_partition(conversation.thread_id)
    for over in conversation.untold:
        put(runtime, partition, keys.run_record(over.generation), over, if_version=None)
    return conversations.change_stored(
        runtime,
        conversation.thread_id,
        lambda c: told(c, conversation.untold, log.last_seq),
        known=stored,
    )


def event_of(conversation: Conversation, over: RunRecord) -> NewEvent:
    """What is told of a run that is over. RunContinued names the run that goes on."""
    name, event_id = EventName.RunEnded, f"run:{over.generation}:ended"
    data: dict[str, Any] = {"generation": over.generation, "reason": over.status}
    if over.status == "continued":
        name, event_id = EventName.RunContinued, f"run:{over.generation + 1}:continued"
        data = {"generation": over.generation + 1}
    elif over.status == Phase.COMPLETED:
        name, event_id, data = EventName.ConversationCompleted, "completed", {"reason": "ended"}
    return NewEvent(event=name, event_id=event_id, turn=conversation.turns, data=data)
