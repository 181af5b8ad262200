"""FailCall: a call that retries could not cure gets its one, failed, response."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from parley.domain.errors import StaleRun
from parley.turns.calls import close_proposal, open_call, respond
from parley.turns.failures import words_for
from parley.turns.function_ports import FunctionOutcome
from parley.turns.runtime import Runtime
from parley.turns.stopping import failed, stop_subthread_of
from parley.turns.task import Task, open_log


def fail_call(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Ends quietly for a stale run: this state has no Catch."""
    with suppress(StaleRun):
        opened = open_call(runtime, task)
        close_proposal(runtime, task, opened)
        log = open_log(runtime, task, opened.scope)
        words = words_for(task.input.error).message
        stop_subthread_of(runtime, task, log, opened, failed(words))
        respond(runtime, log, opened, FunctionOutcome(f"{opened.call.name} failed: {words}", ok=False))
    return {}
