"""Each repair of moto, left out: moto is still wrong. A test that fails here says that its repair can go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from moto.dynamodb.models.table import Table
from moto.stepfunctions.models import StateMachine
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service_callback,
)
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker

from tests.statemachine.moto_runs import ASK, INVOKE, NEST, Runs, Worker, task
from tests.support import moto_repairs, moto_task_repairs
from tests.support.moto_aws import MockedAws, mocked_aws
from tests.support.moto_repairs import Repair
from tests.support.waiting import PATIENCE, wait_until


def test_moto_is_the_version_that_the_repairs_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moto.__version__", "5.2.6")
    with pytest.raises(RuntimeError, match="look again"), moto_repairs.repaired():
        pass


def test_every_repair_has_its_test() -> None:
    tests = set(globals())
    assert {f"test_{repair.__name__}" for repair in moto_repairs.REPAIRS} <= tests


def both(check: Callable[[Repair | None], bool], repair: Repair) -> None:
    """``check`` tells whether all is well: it is with every repair, and is not without this one."""
    assert check(None)
    assert not check(repair)


def comes(without: Repair | None, condition: Callable[[], bool]) -> bool:
    """Whether it comes true: with every repair it does, sooner or later; without one nothing happens for a while."""
    until = time.monotonic() + (PATIENCE if without is None else 0.4)
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def test_dynamodb_serves_one_call_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    put_item = Table.put_item

    def is_well(without: Repair | None) -> bool:
        inside = threading.Barrier(2)

        def put(self: Table, *args: Any, **kwargs: Any) -> Any:
            try:
                inside.wait(0.3 if without is None else PATIENCE)
            except threading.BrokenBarrierError:
                pass
            else:
                meetings.append(1)
            return put_item(self, *args, **kwargs)

        meetings: list[int] = []
        monkeypatch.setattr(Table, "put_item", put)
        with mocked_aws(without=without) as aws:
            client = aws.client("dynamodb")
            item = {"pk": {"S": "p"}, "sk": {"S": "s"}}
            threads = [
                threading.Thread(target=client.put_item, kwargs={"TableName": aws.table, "Item": item})
                for _ in range(2)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return not meetings

    both(is_well, moto_repairs.dynamodb_serves_one_call_at_a_time)


def test_a_name_is_started_once(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = StateMachine._handle_name_input_idempotency

    def is_well(without: Repair | None) -> bool:
        looked = threading.Barrier(2)

        def look(self: StateMachine, *args: Any) -> Any:
            found = look_up(self, *args)
            if found is None:
                with suppress(threading.BrokenBarrierError):
                    looked.wait(0.3 if without is None else PATIENCE)
            return found

        monkeypatch.setattr(StateMachine, "_handle_name_input_idempotency", look)
        with mocked_aws(Worker(), without=without) as aws:
            runs = Runs(aws, ASK)
            threads = [threading.Thread(target=runs.start) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return len(aws.running()) == 1

    both(is_well, moto_repairs.a_name_is_started_once)


def test_a_started_execution_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    get_environment = ExecutionWorker._get_evaluation_environment

    def slowly(self: ExecutionWorker) -> Any:
        time.sleep(0.1)
        return get_environment(self)

    monkeypatch.setattr(ExecutionWorker, "_get_evaluation_environment", slowly)

    def is_well(without: Repair | None) -> bool:
        with mocked_aws(Worker(), without=without) as aws:
            runs = Runs(aws, ASK)
            runs.start()
            try:
                runs.answer("unknown")
            except AttributeError:
                return False
        return True

    both(is_well, moto_repairs.a_started_execution_is_there)


def test_nested_executions_get_their_parameters() -> None:
    def is_well(without: Repair | None) -> bool:
        with mocked_aws(Worker(), without=without) as aws:
            runs = Runs(aws, NEST, nested=task(End=True))
            runs.start()
            return runs.ended() == "SUCCEEDED"

    both(is_well, moto_task_repairs.nested_executions_get_their_parameters)


def test_nested_executions_are_polled_quickly() -> None:
    with moto_repairs.repaired(without=moto_task_repairs.nested_executions_are_polled_quickly):
        assert state_task_service_callback._DELAY_SECONDS_SYNC_CONDITION_CHECK >= 0.5


def test_nested_executions_stop_with_their_parent() -> None:
    def is_well(without: Repair | None) -> bool:
        worker = Worker()
        with mocked_aws(worker, without=without) as aws:
            runs = Runs(aws, NEST, nested=ASK)
            runs.start()
            wait_until(lambda: worker.tokens)
            runs.stop()
            runs.ended()
            return comes(without, lambda: runs.status("a-nested") == "ABORTED")

    both(is_well, moto_task_repairs.nested_executions_stop_with_their_parent)


def test_clients_are_kept() -> None:
    lambdas: Any = lambda_eval_utils

    def is_well(without: Repair | None) -> bool:
        with mocked_aws(without=without) as aws:
            first, second = (lambdas.boto_client_for(region=aws.region, service="lambda") for _ in range(2))
            return first is second

    both(is_well, moto_task_repairs.clients_are_kept)


def test_every_try_has_its_own_token() -> None:
    def is_well(without: Repair | None) -> bool:
        worker = Worker(failures=1)
        with mocked_aws(worker, pace=0.01, without=without) as aws:
            Runs(aws, ASK).start()
            first, second = wait_until(lambda: worker.tokens[:2] if len(worker.tokens) > 1 else None)
            return bool(first != second)

    both(is_well, moto_task_repairs.every_try_has_its_own_token)


def test_tokens_work_once() -> None:
    pause = task(
        Resource=f"{INVOKE}.waitForTaskToken",
        Parameters=ASK["Parameters"],
        TimeoutSeconds=60,
        Next="Rest",
    )
    definition = {
        "StartAt": "Ask",
        "States": {"Ask": pause, "Rest": {"Type": "Wait", "Seconds": 60, "End": True}},
    }

    def is_well(without: Repair | None) -> bool:
        worker = Worker()
        with mocked_aws(worker, without=without) as aws:
            runs = Runs(aws, task(End=True))
            runs.arn = aws.create_machine(definition, name="two")
            runs.start()
            token = wait_until(lambda: worker.tokens)[0]
            assert runs.answer(token)
            return not runs.answer(token)

    both(is_well, moto_task_repairs.tokens_work_once)


def test_stopping_reaches_what_waits() -> None:
    def is_well(without: Repair | None) -> bool:
        worker = Worker()
        with mocked_aws(worker, without=without) as aws:
            runs = Runs(aws, ASK)
            runs.start()
            wait_until(lambda: worker.tokens)
            runs.stop()
            return comes(without, lambda: runs.status() == "ABORTED")

    both(is_well, moto_task_repairs.stopping_reaches_what_waits)


def test_described_outputs_are_json() -> None:
    def is_well(without: Repair | None) -> bool:
        with mocked_aws(without=without) as aws:
            runs = Runs(aws, {"Type": "Pass", "Result": "text", "End": True})
            runs.start()
            runs.ended()
            return bool(runs.client.describe_execution(executionArn=runs.execution())["output"] == '"text"')

    both(is_well, moto_repairs.described_outputs_are_json)


def test_a_failure_has_its_cause() -> None:
    def is_well(without: Repair | None) -> bool:
        worker = Worker()
        with mocked_aws(worker, without=without) as aws:
            runs = Runs(aws, ASK)
            runs.start()
            token = wait_until(lambda: worker.tokens)[0]
            runs.client.send_task_failure(taskToken=token, error="Wrong", cause="so it is")
            runs.ended()
            described = runs.client.describe_execution(executionArn=runs.execution())
            return bool(described.get("cause") == "so it is")

    both(is_well, moto_repairs.a_failure_has_its_cause)


def test_the_start_time_is_text() -> None:
    started = task(
        Parameters={
            "FunctionName": MockedAws.function_arn("worker"),
            "Payload": {"at.$": "$$.Execution.StartTime"},
        },
        End=True,
    )

    def is_well(without: Repair | None) -> bool:
        with mocked_aws(Worker(), without=without) as aws:
            runs = Runs(aws, started)
            runs.start()
            return runs.ended() == "SUCCEEDED" and aws.invocations[0][1]["at"].endswith("Z")

    both(is_well, moto_task_repairs.the_start_time_is_text)
