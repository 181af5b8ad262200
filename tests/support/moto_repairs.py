"""What our tests need repaired in moto, and nothing else. Each repair is one named function with its reason.

This module has the list, and the repairs of what moto answers; `tests.support.moto_task_repairs` those of how
it runs tasks. moto's version is pinned, because repairs reach into it. tests/statemachine/test_moto_repairs.py
shows of each one that moto is still wrong without it, so that a repair goes once it is not needed.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import moto
from moto.core.responses import ActionResult, EmptyResult
from moto.dynamodb.responses import DynamoHandler
from moto.stepfunctions.parser.api import ExecutionStatus
from moto.stepfunctions.parser.models import StepFunctionsParserBackend
from moto.stepfunctions.responses import StepFunctionResponse

from tests.support import moto_task_repairs as tasks
from tests.support.moto_task_repairs import replaced
from tests.support.waiting import PATIENCE

VERSION = "5.2.5"

Repair = Callable[[], AbstractContextManager[None]]


@contextmanager
def dynamodb_serves_one_call_at_a_time() -> Iterator[None]:
    """moto checks a condition, then writes, with nothing to keep another thread out in between."""
    lock = threading.RLock()
    call_action = DynamoHandler.call_action

    def call(self: DynamoHandler) -> Any:
        with lock:
            return call_action(self)

    with replaced(DynamoHandler, "call_action", call):
        yield


@contextmanager
def a_name_is_started_once() -> Iterator[None]:
    """moto looks for the name, then adds the execution: two callers at once start two of one name."""
    lock = threading.Lock()
    start_execution = StepFunctionsParserBackend.start_execution

    def start(self: StepFunctionsParserBackend, *args: Any, **kwargs: Any) -> Any:
        with lock:
            return start_execution(self, *args, **kwargs)

    with replaced(StepFunctionsParserBackend, "start_execution", start):
        yield


@contextmanager
def a_started_execution_is_there() -> Iterator[None]:
    """moto lists an execution before its thread has made what answering a token or stopping it needs."""
    start_execution = StepFunctionsParserBackend.start_execution
    get_executions = StepFunctionsParserBackend._get_executions

    def start(self: StepFunctionsParserBackend, *args: Any, **kwargs: Any) -> Any:
        execution = start_execution(self, *args, **kwargs)
        until = time.monotonic() + PATIENCE
        while not _has_begun(execution) and time.monotonic() < until:
            time.sleep(0.001)
        return execution

    def listed(self: StepFunctionsParserBackend, status: ExecutionStatus | None = None) -> list[Any]:
        return [execution for execution in get_executions(self, status) if _has_begun(execution)]

    with (
        replaced(StepFunctionsParserBackend, "start_execution", start),
        replaced(StepFunctionsParserBackend, "_get_executions", listed),
    ):
        yield


def _has_begun(execution: Any) -> bool:
    worker = execution.exec_worker
    return worker is not None and worker.env is not None and worker.env._program_state is not None


@contextmanager
def described_outputs_are_json() -> Iterator[None]:
    """moto gives an output that is a string without its quotes: no JSON, so no nested result either."""
    describe_execution = StepFunctionResponse.describe_execution

    def describe(self: StepFunctionResponse) -> ActionResult:
        answer: Any = describe_execution(self)
        execution: Any = self.stepfunction_backend.describe_execution(self._get_param("executionArn"))
        described = answer.result
        if described["status"] == "SUCCEEDED":
            described["output"] = json.dumps(execution.output, separators=(",", ":"))
        return answer

    with replaced(StepFunctionResponse, "describe_execution", describe):
        yield


@contextmanager
def a_failure_has_its_cause() -> Iterator[None]:
    """moto drops the cause that SendTaskFailure is given."""

    def send_task_failure(self: StepFunctionResponse) -> ActionResult:
        backend: Any = self.stepfunction_backend
        backend.send_task_failure(
            self._get_param("taskToken"), error=self._get_param("error"), cause=self._get_param("cause")
        )
        return EmptyResult()

    with replaced(StepFunctionResponse, "send_task_failure", send_task_failure):
        yield


REPAIRS: tuple[Repair, ...] = (
    dynamodb_serves_one_call_at_a_time,
    a_started_execution_is_there,
    a_name_is_started_once,
    tasks.nested_executions_get_their_parameters,
    tasks.nested_executions_are_polled_quickly,
    tasks.nested_executions_stop_with_their_parent,
    tasks.clients_are_kept,
    tasks.every_try_has_its_own_token,
    tasks.tokens_work_once,
    tasks.stopping_reaches_what_waits,
    described_outputs_are_json,
    a_failure_has_its_cause,
    tasks.the_start_time_is_text,
)


@contextmanager
def repaired(*, without: Repair | None = None) -> Iterator[None]:
    """moto with all repairs, but for one where a test shows what it is good for."""
    if moto.__version__ != VERSION:
        raise RuntimeError(
            f"moto is {moto.__version__}; the repairs are written against {VERSION}: look again"
        )
    with ExitStack() as stack:
        for repair in REPAIRS:
            if repair is not without:
                stack.enter_context(repair())
        yield
