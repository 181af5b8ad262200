"""FailTurn: close what is open, say what went wrong in plain words, leave the thread usable."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.errors import StaleRun
from parley.domain.events import EventName
from parley.domain.messages import Message, MessageKind
from parley.domain.protocol import open_turn
from parley.turns import conversations, history
from parley.turns.accepted import mark_applied, read_accepted
from parley.turns.closing import after_turn, close_open_calls, finish, withdraw_proposals
from parley.turns.event_log import EventLog
from parley.turns.failures import Failure, words_for
from parley.turns.record_reply import end_subthread
from parley.turns.runtime import Runtime
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
    log = open_log(runtime, task, scope)
    if scope.subthread is not None:
        withdraw_proposals(runtime, task, scope)
        close_open_calls(runtime, log, scope, f"The turn failed: {failure.message}")
        end_subthread(runtime, scope, failure.message)
        return "RunClosed"
    message_id = scope.conversation.run.message_id
    if message_id is None:
        return after_turn(scope.conversation)
    scope = _opened(runtime, task, scope, log, message_id)
    withdraw_proposals(runtime, task, scope)
    close_open_calls(runtime, log, scope, f"The turn failed: {failure.message}")
    _show(runtime, scope, log, failure)
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


def _show(runtime: Runtime, scope: Scope, log: EventLog, failure: Failure) -> None:
    message = Message(
        id=f"{scope.thread_id}-{scope.turn}-failed",
        kind=MessageKind.TURN_FAILED,
        role="system",
        content=failure.message,
        timestamp=runtime.clock.now(),
        turn=scope.turn,
        step=9999,
        ok=False,
        metadata={"type": failure.type, "retryable": failure.retryable},
    )
    history.record(runtime, scope, keys.message(scope.thread_id, scope.turn, message.step), message)
    log.append(
        scope.event(
            EventName.TurnFailed,
            f"turn:{scope.turn}:failed",
            type=failure.type,
            message=failure.message,
            retryable=failure.retryable,
        )
    )
