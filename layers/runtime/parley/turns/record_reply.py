"""RecordReply: the reply under its reference, the last events of the turn, the save that closes it."""

from __future__ import annotations

from typing import Any

from parley.domain.conversation import Conversation
from parley.domain.errors import StaleRun
from parley.domain.events import EventName
from parley.domain.messages import Message
from parley.domain.protocol import begin_recording
from parley.turns import conversations, history
from parley.turns.closing import after_turn, finish, reply_ref
from parley.turns.event_log import EventLog
from parley.turns.reply_events import message_end
from parley.turns.runtime import Runtime
from parley.turns.stopping import CANCELLED, end_subthread, stop_subthread, stop_turn
from parley.turns.task import Scope, Task, enter, open_log


def record_reply(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"next"}``."""
    scope = enter(runtime, task)
    if scope.subthread is None and scope.conversation.turn is None:
        return _after(scope.conversation)
    log = open_log(runtime, task, scope)
    if scope.conversation.cancelled:
        return {"next": end_cancelled(runtime, task, scope, log)}
    message = history.model_message(runtime, scope, task.input.turn.step)
    if message is None:
        raise LookupError(f"turn {scope.turn} has no reply to record")
    if scope.subthread is not None:
        log.append(message_end(scope, message))
        end_subthread(runtime, scope)
        return {"next": "RunClosed"}
    return end_answered(runtime, task, scope, log, message)


def recording(runtime: Runtime, task: Task, scope: Scope) -> Scope:
    """The save behind which the turn cannot be cancelled any more; the scope tells whether it was before.

    Raises StaleRun if another turn is open.
    """
    run_id, turn = task.run.run_id, scope.turn
    stored = conversations.change_stored(
        runtime, run_id.thread_id, lambda c: begin_recording(c, run_id, turn), known=scope.stored
    )
    if stored.value.turn not in (turn, None):
        raise StaleRun(f"turn {turn} is over")
    return Scope(stored, scope.thread_id, scope.agent_id, turn)


def end_answered(
    runtime: Runtime, task: Task, scope: Scope, log: EventLog, message: Message
) -> dict[str, Any]:
    """Close the root's turn with its reply, unless a cancel came before."""
    scope = recording(runtime, task, scope)
    if scope.conversation.turn is None:
        return _after(scope.conversation)
    if scope.conversation.cancelled:
        return {"next": end_cancelled(runtime, task, scope, log)}
    ref = reply_ref(scope.thread_id, scope.turn)
    ended = scope.event(EventName.ThreadEnd, thread_end_id(scope.turn), reply_ref=ref, turn=scope.turn)
    log.append(message_end(scope, message), ended)
    return _after(finish(runtime, task, scope, log, message))


def thread_end_id(turn: int) -> str:
    """The ``event_id`` of a turn's ThreadEnd."""
    return f"turn:{turn}:end"


def end_cancelled(runtime: Runtime, task: Task, scope: Scope, log: EventLog) -> str:
    """Close a cancelled turn, of the root or of a subthread; the state that follows."""
    if scope.subthread is not None:
        stop_subthread(runtime, task, log, scope, CANCELLED)
        return "RunClosed"
    stop_turn(runtime, task, log, scope, CANCELLED)
    log.append(scope.event(EventName.TurnCancelled, f"turn:{scope.turn}:cancelled", turn=scope.turn))
    return after_turn(finish(runtime, task, scope, log, None))


def _after(conversation: Conversation) -> dict[str, Any]:
    return {"next": "ProposeActions" if conversation.propose_actions else after_turn(conversation)}
