"""RecordReply: the reply under its reference, the last events of the turn, the save that closes it."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.conversation import Conversation, Phase
from parley.domain.events import EventName
from parley.domain.messages import Message
from parley.domain.proposals import Outcome
from parley.domain.protocol import enter_phase
from parley.turns import conversations, history
from parley.turns.calls import REFUSALS
from parley.turns.closing import after_turn, close_open_calls, finish, reply_ref, withdraw_proposals
from parley.turns.event_log import EventLog
from parley.turns.invoke_model import message_end
from parley.turns.records import put
from parley.turns.runtime import Runtime
from parley.turns.task import Scope, Task, enter, open_log


def record_reply(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"next"}``."""
    scope = enter(runtime, task)
    if scope.subthread is None and scope.conversation.turn is None:
        return _after(scope.conversation)
    log = open_log(runtime, task, scope)
    if scope.conversation.cancelled:
        return _cancelled(runtime, task, scope, log)
    message = history.model_message(runtime, scope, task.input.turn.step)
    if message is None:
        raise LookupError(f"turn {scope.turn} has no reply to record")
    if scope.subthread is not None:
        log.append(message_end(scope, message))
        end_subthread(runtime, scope)
        return {"next": "RunClosed"}
    run_id = task.run.run_id
    stored = conversations.change_stored(
        runtime,
        run_id.thread_id,
        lambda c: enter_phase(c, run_id, Phase.RECORDING_REPLY),
        known=scope.stored,
    )
    recorded = Scope(stored, scope.thread_id, scope.agent_id, scope.turn)
    _record(recorded, log, message)
    return _after(finish(runtime, task, recorded, log, message))


def _record(scope: Scope, log: EventLog, message: Message) -> None:
    ref = reply_ref(scope.thread_id, scope.turn)
    ended = scope.event(EventName.ThreadEnd, f"turn:{scope.turn}:end", reply_ref=ref)
    ended.data["turn"] = scope.turn
    log.append(message_end(scope, message), ended)


def _cancelled(runtime: Runtime, task: Task, scope: Scope, log: EventLog) -> dict[str, Any]:
    withdraw_proposals(runtime, task, scope)
    close_open_calls(runtime, log, scope, REFUSALS[Outcome.CANCELLED])
    if scope.subthread is not None:
        end_subthread(runtime, scope)
        return {"next": "RunClosed"}
    event = scope.event(EventName.TurnCancelled, f"turn:{scope.turn}:cancelled")
    event.data["turn"] = scope.turn
    log.append(event)
    return {"next": after_turn(finish(runtime, task, scope, log, None))}


def end_subthread(runtime: Runtime, scope: Scope, failure: str | None = None) -> None:
    """Mark the subthread's turn as over."""
    if scope.subthread is not None:
        ended = scope.subthread.but(done=True, failure=failure)
        put(runtime, scope.partition, keys.subthread(ended.subthread_id), ended, if_version=None)


def _after(conversation: Conversation) -> dict[str, Any]:
    return {"next": "ProposeActions" if conversation.propose_actions else after_turn(conversation)}
