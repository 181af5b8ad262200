"""CloseSubthread: the subagent's reply, as the store knows it, becomes the call's response."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.messages import Message, MessageKind
from parley.turns import history
from parley.turns.calls import OpenCall, open_call, respond, response_event
from parley.turns.function_ports import FunctionOutcome
from parley.turns.records import load
from parley.turns.runtime import Runtime
from parley.turns.task import Task, open_log, subthread_scope


def close_subthread(runtime: Runtime, task: Task) -> dict[str, Any]:
    """A subthread that has no reply is answered as a failed call."""
    opened = open_call(runtime, task)
    log = open_log(runtime, task, opened.scope)
    recorded = history.call_response(runtime, opened.scope, opened.step, opened.index)
    if recorded is not None:
        log.append(response_event(opened, recorded))
    else:
        respond(runtime, log, opened, _outcome(runtime, opened))
    return {}


def _outcome(runtime: Runtime, opened: OpenCall) -> FunctionOutcome:
    scope = opened.scope
    link_key = keys.call_message(scope.thread_id, scope.turn, opened.step, opened.index, keys.LINK)
    link = load(runtime, scope.partition, link_key, Message)
    if link is None:
        return FunctionOutcome("The subagent could not be started.", ok=False)
    inner = subthread_scope(runtime, scope.stored, link.value.metadata["subthread_id"])
    if inner.subthread is not None and inner.subthread.failure:
        return FunctionOutcome(f"The subagent failed: {inner.subthread.failure}", ok=False)
    replies = [
        message
        for message in history.recent(runtime, inner, 1)
        if message.turn == inner.turn and message.kind is MessageKind.ASSISTANT_MESSAGE
    ]
    if inner.subthread is None or not inner.subthread.done or not replies:
        return FunctionOutcome("The subagent stopped before it had an answer.", ok=False)
    return FunctionOutcome(replies[-1].content or "The subagent finished without words.")
