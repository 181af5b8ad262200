"""FailCall: a call that retries could not cure gets its one, failed, response."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from parley.domain.agents import SubagentFunction
from parley.domain.conversation import Conversation
from parley.domain.errors import StaleRun
from parley.domain.proposals import Outcome
from parley.turns.calls import AWAIT, OpenCall, close_proposal, open_call, respond
from parley.turns.failures import words_for
from parley.turns.function_ports import FunctionOutcome
from parley.turns.runtime import Runtime
from parley.turns.stopping import PERHAPS_RAN, failed, stop_subthread_of
from parley.turns.task import Scope, Task, open_log


def fail_call(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Ends quietly for a stale run: this state has no Catch."""
    with suppress(StaleRun):
        opened = open_call(runtime, task)
        conversation = close_proposal(runtime, task, opened)
        log = open_log(runtime, task, opened.scope)
        words = words_for(task.input.error).message
        inner = stop_subthread_of(runtime, task, log, opened, failed(words))
        content = f"{opened.call.name} failed: {words}"
        if _may_have_run(task, opened, conversation, inner):
            content = f"{content} {PERHAPS_RAN}"
        respond(runtime, log, opened, FunctionOutcome(content, ok=False))
    return {}


def _may_have_run(task: Task, opened: OpenCall, conversation: Conversation, inner: Scope | None) -> bool:
    """Not without the approval that it waits for; nor has a subagent whose subthread was never opened."""
    if task.call.next == AWAIT:
        entry = conversation.proposal(opened.proposal_id)
        if entry is None or entry.outcome is not Outcome.APPROVED:
            return False
    subagent = opened.function is not None and isinstance(opened.function.implementation, SubagentFunction)
    return inner is not None or not (subagent or opened.call.arguments_error)
