"""Repairs of how moto runs tasks: tokens, nested executions, stopping. See `tests.support.moto_repairs`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from unittest import mock

import botocore.session
from moto.core.responses import ActionResult
from moto.core.utils import iso_8601_datetime_with_milliseconds, utcnow
from moto.stepfunctions.parser.api import TaskTimedOut
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service_callback as callback_service,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service_sfn as nested_service,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import (
    StateTaskService,
)
from moto.stepfunctions.parser.asl.eval.callback.callback import (
    CallbackConsumerTimeout,
    CallbackEndpoint,
    CallbackOutcomeTimedOut,
    CallbackPoolManager,
)
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.utils import boto_client
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker
from moto.stepfunctions.parser.utils import camel_to_snake_case
from moto.stepfunctions.responses import StepFunctionResponse

nested_service_module: Any = nested_service  # its clients are untyped


@contextmanager
def replaced(target: Any, name: str, replacement: Any) -> Iterator[None]:
    with mock.patch.object(target, name, replacement):
        yield


def interrupt_tokens(environment: Environment) -> None:
    """Wake whatever waits on a task token of this execution; it then sees that the execution has ended."""
    for endpoint in list(environment.callback_pool_manager._pool.values()):
        endpoint.interrupt_all()


@contextmanager
def nested_executions_get_their_parameters() -> Iterator[None]:
    """moto left out the step from an integration's names (Name, StateMachineArn) to the SDK's (name, …)."""
    session = botocore.session.get_session()

    @functools.cache
    def operations(service: str) -> dict[str, Any]:
        model = session.get_service_model(service)
        return {camel_to_snake_case(name): model.operation_model(name) for name in model.operation_names}

    def shapes(task: StateTaskService, service: str | None, action: str | None) -> Any:
        return operations(task._get_boto_service_name(service))[task._get_boto_service_action(action)]

    def parameters(
        self: StateTaskService,
        parameters: dict[str, Any],
        boto_service_name: str | None = None,
        service_action_name: str | None = None,
    ) -> None:
        self._to_boto_request(parameters, shapes(self, boto_service_name, service_action_name).input_shape)

    def response(
        self: StateTaskService,
        response: Any,
        boto_service_name: str | None = None,
        service_action_name: str | None = None,
    ) -> None:
        self._from_boto_response(response, shapes(self, boto_service_name, service_action_name).output_shape)
        for name, value in response.items():
            if isinstance(value, datetime):
                response[name] = int(value.timestamp() * 1000)  # as Step Functions has it in a task's result

    with (
        replaced(StateTaskService, "_normalise_parameters", parameters),
        replaced(StateTaskService, "_normalise_response", response),
    ):
        yield


@contextmanager
def nested_executions_are_polled_quickly() -> Iterator[None]:
    """moto asks twice a second whether a nested execution has ended: most of a scenario's time."""
    with replaced(callback_service, "_DELAY_SECONDS_SYNC_CONDITION_CHECK", 0.02):
        yield


@contextmanager
def nested_executions_stop_with_their_parent() -> Iterator[None]:
    """moto lets them run on; Step Functions stops them when the parent is stopped or its task times out."""
    build_resolver = nested_service.StateTaskServiceSfn._build_sync2_resolver
    eval_sync = callback_service.StateTaskServiceCallback._eval_sync

    def build(self: Any, env: Environment, **kwargs: Any) -> Any:
        arn = env.stack[-1]["ExecutionArn"]
        resolver: Any = build_resolver(self, env=env, **kwargs)
        resolver.execution_arn = arn
        return resolver

    def evaluate(self: Any, env: Environment, sync_resolver: Any, **kwargs: Any) -> Any:
        outcome = eval_sync(self, env=env, sync_resolver=sync_resolver, **kwargs)
        if isinstance(outcome, CallbackOutcomeTimedOut) or not env.is_running():
            client = nested_service_module.boto_client_for(
                region=env.aws_execution_details.region, service="stepfunctions"
            )
            client.stop_execution(executionArn=sync_resolver.execution_arn)
        return outcome

    with (
        replaced(nested_service.StateTaskServiceSfn, "_build_sync2_resolver", build),
        replaced(callback_service.StateTaskServiceCallback, "_eval_sync", evaluate),
    ):
        yield


@contextmanager
def clients_are_kept() -> Iterator[None]:
    """moto makes a new SDK client for every task that it runs: some 20 ms each."""

    @functools.cache
    def kept(service: str, region: str) -> Any:
        return boto_client.boto_client_for(region=region, service=service)

    def client_for(region: str, service: str, state_credentials: Any = None) -> Any:
        with lock:
            return kept(service, region)

    lock = threading.Lock()
    with (
        replaced(lambda_eval_utils, "boto_client_for", client_for),
        replaced(nested_service, "boto_client_for", client_for),
    ):
        yield


@contextmanager
def every_try_has_its_own_token() -> Iterator[None]:
    """moto keeps a task's token over its retries, answered or timed out as it may be."""
    service = callback_service.StateTaskServiceCallback
    eval_execution = StateTaskService._eval_execution

    def evaluate(self: Any, env: Environment) -> None:
        context: Any = env.states.context_object
        data = context.context_object_data
        if "Task" in data and data["State"]["RetryCount"]:
            last = env.callback_pool_manager.get(data["Task"]["Token"])
            if last is not None:
                last.report(CallbackConsumerTimeout())
            env.callback_pool_manager.add(context.update_task_token())
        eval_execution(self, env)

    # moto's callback service inherits the method, so it is set there, and taken away again.
    with mock.patch.object(service, "_eval_execution", evaluate):
        yield


@contextmanager
def tokens_work_once() -> Iterator[None]:
    """moto takes a second answer to a token, and one that comes after the task has timed out."""
    notify, interrupt_all = CallbackPoolManager.notify, CallbackEndpoint.interrupt_all

    def notify_once(self: CallbackPoolManager, callback_id: str, outcome: Any) -> bool:
        endpoint = self.get(callback_id)
        if endpoint is not None and (endpoint.get_outcome() or endpoint.consumer_error):
            raise TaskTimedOut("the task is over", exception_type="TaskTimedOut")
        return notify(self, callback_id, outcome)

    def interrupt(self: CallbackEndpoint) -> None:
        if self.get_outcome() is None:
            self.report(CallbackConsumerTimeout())
        interrupt_all(self)

    with (
        replaced(CallbackPoolManager, "notify", notify_once),
        replaced(CallbackEndpoint, "interrupt_all", interrupt),
    ):
        yield


@contextmanager
def stopping_reaches_what_waits() -> Iterator[None]:
    """moto leaves a stopped execution waiting on its token, and loses the given error and cause."""
    set_error = Environment.set_error

    def keep_first_end(self: Environment, error: Any) -> None:
        # What is woken below fails; the execution is over already.
        if self._program_state is None or self.is_running():
            set_error(self, error)

    def stop(self: StepFunctionResponse) -> ActionResult:
        execution: Any = self.stepfunction_backend.describe_execution(self._get_param("executionArn"))
        if execution.exec_worker.env.is_running():
            # Told before it is done, because a reader may ask in between.
            execution.error, execution.cause = self._get_param("error"), self._get_param("cause")
            execution.stop(stop_date=utcnow(), error=execution.error, cause=execution.cause)
            interrupt_tokens(execution.exec_worker.env)
        return ActionResult({"stopDate": utcnow()})

    with (
        replaced(Environment, "set_error", keep_first_end),
        replaced(StepFunctionResponse, "stop_execution", stop),
    ):
        yield


@contextmanager
def the_start_time_is_text() -> Iterator[None]:
    """moto has a datetime in the context object, which no function can be sent."""
    get_environment = ExecutionWorker._get_evaluation_environment

    def environment(self: ExecutionWorker) -> Environment:
        made = get_environment(self)
        execution: Any = made.states.context_object.context_object_data["Execution"]
        execution["StartTime"] = iso_8601_datetime_with_milliseconds(execution["StartTime"])
        return made

    with replaced(ExecutionWorker, "_get_evaluation_environment", environment):
        yield
