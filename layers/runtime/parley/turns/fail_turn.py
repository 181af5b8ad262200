"""FailTurn: close what is open, say what went wrong in plain words, leave the thread usable.

A turn whose reply is recorded has not failed, whatever went wrong behind that: it is closed with its reply.
"""

from __future__ import annotations

from typing import Any

from parley.domain.errors import StaleRun, TurnGivenUp
from parley.domain.protocol import open_turn
from parley.turns import conversations, history
from parley.turns.accepted import mark_applied, read_accepted
from parley.turns.closing import after_turn, finish
from parley.turns.event_log import EventLog
from parley.turns.failures import words_for
from parley.turns.record_reply import end_answered, end_cancelled, recording, thread_end_id
from parley.turns.runtime import Runtime
from parley.turns.stopping import Stop, failed, stop_subthread, stop_turn, stopped_event
from parley.turns.task import Scope, Task, enter, open_log


def fail_turn(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"next"}``; ends quietly for a stale run: this state has no Catch."""
    try:
        return {"next": _close(runtime, task)}
    except StaleRun:
        return {"next": "RunClosed"}


def _close(runtime: Runtime, task: Task) -> str:
    scope = enter(runtime, task)
    failure = words_for(task.input.error)
    stop = failed(failure.message, type=failure.type, retryable=failure.retryable)
    log = open_log(runtime, task, scope)
    if scope.subthread is not None:
        stop_subthread(runtime, task, log, scope, stop)
        return "RunClosed"
    message_id = scope.conversation.run.message_id
    if message_id is None:
        return after_turn(scope.conversation)
    scope = _opened(runtime, task, scope, log, message_id)
    reply = history.final_reply(runtime, scope)
    if reply is not None and failure.type != TurnGivenUp.__name__:
        return str(end_answered(runtime, task, scope, log, reply)["next"])
    return _fail(runtime, task, scope, log, stop)


def _fail(runtime: Runtime, task: Task, scope: Scope, log: EventLog, stop: Stop) -> str:
    """What the person asked for goes before what went wrong: a turn that was cancelled ends so."""
    scope = recording(runtime, task, scope)
    if scope.conversation.turn is None:
        return after_turn(scope.conversation)
    if scope.conversation.cancelled:
        return end_cancelled(runtime, task, scope, log)
    sealed = stop_turn(runtime, task, log, scope, stop)
    if not log.knows(thread_end_id(scope.turn)):
        log.append(stopped_event(scope, sealed))
    return after_turn(finish(runtime, task, scope, log, None))


def _opened(runtime: Runtime, task: Task, scope: Scope, log: EventLog, message_id: str) -> Scope:
    """The scope of the turn, opened here if BuildPrompt never came so far: no message may be lost."""
    conversation = scope.conversation
    run_id = task.run.run_id
    policy = conversation.on_message_while_pending
    stored = conversations.change_stored(
        runtime,
        run_id.thread_id,
        lambda c: open_turn(
            c, run_id, message_id, last_seq=log.last_seq, policy=policy, propose_actions=None
        ),
        known=scope.stored,
    )
    turn = stored.value.turn or 0
    opened = Scope(stored, scope.thread_id, scope.agent_id, turn)
    accepted = read_accepted(runtime, conversation.thread_id, message_id)
    if not accepted.applied:
        history.record_user_message(runtime, opened, log, accepted)
        mark_applied(runtime, conversation.thread_id, accepted, turn)
    return opened
