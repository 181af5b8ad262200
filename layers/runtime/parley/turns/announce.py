"""RunContinued and RunEnded: what a save owes the event log of the chain of runs.

The save that makes the next run, or closes one, says in the aggregate what is to be told (``untold``). Whoever comes
first tells it: the state itself, the next ReceiveMessage, repair. All of them read the log from ``last_seq`` on, which
does not move before it is told, so it is told once; no turn opens before.
"""

from __future__ import annotations

from typing import assert_never

from parley.domain.conversation import Conversation, Untold
from parley.domain.events import EventName, NewEvent
from parley.domain.protocol import told
from parley.turns import conversations
from parley.turns.event_log import EventLog
from parley.turns.records import Stored
from parley.turns.runtime import Runtime


def tell(runtime: Runtime, stored: Stored[Conversation]) -> Stored[Conversation]:
    """Append what is owed, and save that it is there; nothing is read or written if nothing is owed."""
    conversation = stored.value
    if not conversation.untold:
        return stored
    log = EventLog(runtime, conversation, rerun=True)
    log.append(*[_event(conversation, untold) for untold in conversation.untold])
    return conversations.change_stored(
        runtime,
        conversation.thread_id,
        lambda c: told(c, conversation.untold, log.last_seq),
        known=stored,
    )


def _event(conversation: Conversation, untold: Untold) -> NewEvent:
    generation = untold.generation
    match untold.what:
        case "continued":
            name, more = EventName.RunContinued, {}
        case "ended":
            name, more = EventName.RunEnded, {"reason": "inactive"}
        case _ as never:
            assert_never(never)
    return NewEvent(
        event=name,
        event_id=f"run:{generation}:{untold.what}",
        turn=conversation.turns,
        data={"generation": generation, **more},
    )
