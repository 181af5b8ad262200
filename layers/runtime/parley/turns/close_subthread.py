"""CloseSubthread: the subagent's reply, as the store knows it, becomes the call's response."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from parley.domain import keys
from parley.domain.messages import MessageKind
from parley.domain.proposals import Outcome
from parley.turns import history
from parley.turns.calls import REFUSALS, OpenCall, open_call, respond, response_event
from parley.turns.event_log import EventLog
from parley.turns.function_ports import FunctionOutcome
from parley.turns.records import load
from parley.turns.runtime import Runtime
from parley.turns.stopping import CANCELLED, failed, stop_subthread_of
from parley.turns.task import Scope, Subthread, Task, open_log

_NO_ANSWER = "The subagent stopped before it had an answer."


def close_subthread(runtime: Runtime, task: Task) -> dict[str, Any]:
    """A subthread that has no reply is answered as a failed call, and can do nothing from here on."""
    opened = open_call(runtime, task)
    log = open_log(runtime, task, opened.scope)
    recorded = history.call_response(runtime, opened.scope, opened.step, opened.index)
    if recorded is not None:
        log.append(response_event(opened, recorded))
    else:
        respond(runtime, log, opened, _outcome(runtime, task, log, opened))
    return {}


def _outcome(runtime: Runtime, task: Task, log: EventLog, opened: OpenCall) -> FunctionOutcome:
    cancelled = opened.scope.conversation.cancelled
    stop = CANCELLED if cancelled else failed(_NO_ANSWER, type="SubagentLost", retryable=True)
    inner = stop_subthread_of(runtime, task, log, opened, stop)
    if inner is None:
        return FunctionOutcome("The subagent could not be started.", ok=False)
    failure = inner.subthread.failure if inner.subthread else None
    superseded = _superseded(runtime, inner)
    if failure and cancelled:
        outcome = stop.answer(unrun=False)
        return replace(outcome, content=outcome.content + superseded)
    if failure:
        return FunctionOutcome(f"The subagent failed: {failure}{superseded}", ok=False)
    replies = [
        message
        for message in history.recent(runtime, inner, 1)
        if message.turn == inner.turn and message.kind is MessageKind.ASSISTANT_MESSAGE
    ]
    if not replies:
        return FunctionOutcome(f"{_NO_ANSWER}{superseded}", ok=False)
    return FunctionOutcome((replies[-1].content or "The subagent finished without words.") + superseded)


def _superseded(runtime: Runtime, inner: Scope) -> str:
    """What the subagent was told of an action that a new message put an end to, for the agent above it as well."""
    entries = [entry for entry in inner.conversation.proposals if entry.outcome is Outcome.SUPERSEDED]
    if any(_is_below(runtime, inner, entry.thread_id) for entry in entries):
        return f"\n\n{REFUSALS[Outcome.SUPERSEDED]}"
    return ""


def _is_below(runtime: Runtime, inner: Scope, thread_id: str) -> bool:
    """Whether a thread is the subthread itself or opened below it."""
    while thread_id != inner.thread_id:
        found = load(runtime, inner.partition, keys.subthread(thread_id), Subthread)
        if found is None:
            return False
        thread_id = found.value.parent_thread_id
    return True
