from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from parley.turns.ports import Started
from tests.support.orchestrators import BACKENDS, Rig, rig

INVOKE = "arn:aws:states:::lambda:invoke"


def task(payload: dict[str, Any], **fields: Any) -> dict[str, Any]:
    parameters = {"FunctionName": "${Worker}", "Payload": payload}
    return {"Type": "Task", "Resource": INVOKE, "Parameters": parameters, **fields}


RETRY = [{"ErrorEquals": ["ValueError"], "IntervalSeconds": 1, "MaxAttempts": 3}]
DEFINITION = {
    "StartAt": "Choose",
    "States": {
        "Choose": {
            "Type": "Choice",
            "Choices": [
                {"Variable": "$.do", "StringEquals": each, "Next": each.title()}
                for each in ("ask", "fail", "many", "nest", "work", "pause")
            ],
            "Default": "Done",
        },
        "Work": task({"input.$": "$"}, Retry=RETRY, Next="Done"),
        "Ask": task(
            {"token.$": "$$.Task.Token", "input.$": "$"},
            Resource=f"{INVOKE}.waitForTaskToken",
            TimeoutSecondsPath="$.seconds",
            ResultPath=None,
            Retry=RETRY,
            Catch=[{"ErrorEquals": ["States.Timeout"], "ResultPath": None, "Next": "Late"}],
            Next="Done",
        ),
        "Many": {
            "Type": "Map",
            "ItemsPath": "$.items",
            "ItemProcessor": {
                "ProcessorConfig": {"Mode": "INLINE"},
                "StartAt": "One",
                "States": {
                    "One": task(
                        {"input.$": "$"},
                        ResultPath=None,
                        Catch=[{"ErrorEquals": ["KeyError"], "ResultPath": None, "Next": "Caught"}],
                        End=True,
                    ),
                    "Caught": {"Type": "Pass", "End": True},
                },
            },
            "ResultPath": None,
            "Next": "Done",
        },
        "Nest": {
            "Type": "Task",
            "Resource": "arn:aws:states:::states:startExecution.sync:2",
            "Parameters": {
                "StateMachineArn.$": "$$.StateMachine.Id",
                "Name.$": "States.Format('{}-nested', $$.Execution.Name)",
                "Input.$": "$.input",
            },
            "ResultPath": None,
            "Next": "Done",
        },
        "Pause": {"Type": "Wait", "Seconds": 1, "Next": "Done"},
        "Fail": {"Type": "Fail", "Error": "Hopeless", "Cause": "as it was told"},
        "Late": {"Type": "Pass", "Next": "Done"},
        "Done": {"Type": "Succeed"},
    },
}
ASK = {"do": "ask", "seconds": 5000}


class Worker:
    """Does what a test sets; keeps the tokens that it was given."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.failures: list[Exception] = []
        self.before_answering: Any = lambda token: None

    def __call__(self, name: str, payload: Any) -> Any:
        assert name == "Worker"
        if "token" in payload:
            self.tokens.append(payload["token"])
            self.before_answering(payload["token"])
        if self.failures:
            raise self.failures.pop(0)
        if payload["input"] == "bad":
            raise KeyError(payload["input"])
        return {"done": True}


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture(params=BACKENDS)
def machine(request: pytest.FixtureRequest, worker: Worker, tmp_path: Path) -> Iterator[Rig]:
    with rig(request.param, DEFINITION, worker, folder=tmp_path, function_names=("Worker",)) as each:
        yield each


def test_an_execution_runs_with_its_payload(machine: Rig) -> None:
    payload = {"do": "work", "text": "日本 🎈", "n": [1, 2.5, None]}
    assert machine.orchestrator.start("a", payload) is Started.STARTED
    assert machine.ended("a") == "SUCCEEDED"
    assert machine.calls_of("Worker") == [{"input": payload}]


def test_a_running_name_is_not_started_again(machine: Rig, worker: Worker) -> None:
    machine.orchestrator.start("a", ASK)
    machine.wait_until(lambda: worker.tokens)
    assert machine.orchestrator.start("a", ASK) in {Started.STARTED, Started.RUNNING}
    assert machine.orchestrator.start("a", {"do": "work"}) is Started.RUNNING
    assert machine.orchestrator.status("a") == "RUNNING"
    assert len(machine.calls) == 1


def test_a_closed_name_is_told(machine: Rig) -> None:
    machine.orchestrator.start("a", {"do": "work"})
    machine.ended("a")
    assert machine.orchestrator.start("a", {"do": "work"}) is Started.CLOSED
    assert machine.orchestrator.start("a", {"do": "ask"}) is Started.CLOSED
    assert len(machine.calls) == 1


def test_a_name_started_from_many_threads_runs_once(machine: Rig, worker: Worker) -> None:
    with ThreadPoolExecutor(6) as pool:
        outcomes = set(pool.map(lambda _: machine.orchestrator.start("a", ASK), range(6)))
    assert Started.CLOSED not in outcomes
    machine.wait_until(lambda: worker.tokens)
    assert machine.orchestrator.wake(worker.tokens[0])
    assert machine.ended("a") == "SUCCEEDED"
    assert len(machine.calls) == 1


def test_what_is_unknown_is_none_or_nothing(machine: Rig) -> None:
    assert machine.orchestrator.status("never") is None
    assert machine.orchestrator.history("never") == []
    assert machine.orchestrator.wake("never") is False
    machine.orchestrator.stop("never", "no reason")


def test_a_token_wakes_once(machine: Rig, worker: Worker) -> None:
    machine.orchestrator.start("a", ASK)
    token = machine.wait_until(lambda: worker.tokens)[0]
    assert machine.orchestrator.wake(token) is True
    assert machine.orchestrator.wake(token) is False
    assert machine.ended("a") == "SUCCEEDED"
    assert machine.orchestrator.wake(token) is False


def test_a_token_may_be_answered_before_its_function_has_returned(machine: Rig, worker: Worker) -> None:
    woken: list[bool] = []
    worker.before_answering = lambda token: woken.append(machine.orchestrator.wake(token))
    machine.orchestrator.start("a", ASK)
    assert machine.ended("a") == "SUCCEEDED"
    assert woken == [True]


def test_every_try_has_a_token_of_its_own(machine: Rig, worker: Worker) -> None:
    worker.failures = [ValueError("not yet")]
    machine.orchestrator.start("a", ASK)
    first, second = machine.wait_until(lambda: worker.tokens[:2] if len(worker.tokens) > 1 else None)
    assert first != second
    assert machine.orchestrator.wake(first) is False
    assert machine.orchestrator.wake(second) is True
    assert machine.ended("a") == "SUCCEEDED"


def test_a_token_is_worth_nothing_after_its_time(machine: Rig, worker: Worker) -> None:
    machine.orchestrator.start("a", {"do": "ask", "seconds": 1})
    assert machine.ended("a") == "SUCCEEDED"
    assert [machine.orchestrator.wake(token) for token in worker.tokens] == [False]
    assert machine.story("a") == [
        ((), "Choose", "Choice", "succeeded", None, 0, False),
        ((), "Ask", "Task", "timed_out", "States.Timeout", 0, False),
        ((), "Late", "Pass", "succeeded", None, 0, False),
        ((), "Done", "Succeed", "succeeded", None, 0, False),
    ]


def test_a_stopped_execution_is_aborted_and_its_token_dead(machine: Rig, worker: Worker) -> None:
    machine.orchestrator.start("a", ASK)
    token = machine.wait_until(lambda: worker.tokens)[0]
    machine.orchestrator.stop("a", "enough " * 10_000)
    assert machine.ended("a") == "ABORTED"
    assert machine.orchestrator.wake(token) is False
    machine.orchestrator.stop("a", "again")
    assert machine.orchestrator.status("a") == "ABORTED"
    assert machine.story("a")[-1] == ((), "Ask", "Task", "aborted", None, 0, False)


def test_stopping_reaches_what_is_nested(machine: Rig, worker: Worker) -> None:
    machine.orchestrator.start("a", {"do": "nest", "input": ASK})
    token = machine.wait_until(lambda: worker.tokens)[0]
    assert machine.orchestrator.status("a-nested") == "RUNNING"
    machine.orchestrator.stop("a", "enough")
    assert machine.ended("a") == "ABORTED"
    assert machine.ended("a-nested") == "ABORTED"
    assert machine.orchestrator.wake(token) is False


def test_the_history_tells_of_a_wait(machine: Rig, worker: Worker) -> None:
    machine.orchestrator.start("a", ASK)
    machine.wait_until(lambda: worker.tokens)
    waiting = ((), "Ask", "Task", "running", None, 0, True)
    machine.wait_until(lambda: machine.story("a")[-1] == waiting)
    visit = machine.orchestrator.history("a")[-1]
    assert visit.exited_at is None
    machine.orchestrator.wake(worker.tokens[0])
    machine.ended("a")
    visits = machine.orchestrator.history("a")
    assert [each.name for each in visits] == ["Choose", "Ask", "Done"]
    for each in visits:
        assert each.exited_at is not None
        assert each.entered_at <= each.exited_at


def test_the_history_counts_retries(machine: Rig, worker: Worker) -> None:
    worker.failures = [ValueError("1"), ValueError("2")]
    machine.orchestrator.start("a", {"do": "work"})
    assert machine.ended("a") == "SUCCEEDED"
    assert machine.story("a")[1] == ((), "Work", "Task", "succeeded", None, 2, False)


def test_the_history_tells_the_branches_of_a_map(machine: Rig) -> None:
    machine.orchestrator.start("a", {"do": "many", "items": ["good", "bad"]})
    assert machine.ended("a") == "SUCCEEDED"
    assert machine.story("a") == [
        ((), "Choose", "Choice", "succeeded", None, 0, False),
        ((), "Many", "Map", "succeeded", None, 0, False),
        ((), "Done", "Succeed", "succeeded", None, 0, False),
        ((0,), "One", "Task", "succeeded", None, 0, False),
        ((1,), "One", "Task", "failed", "KeyError", 0, False),
        ((1,), "Caught", "Pass", "succeeded", None, 0, False),
    ]


def test_the_history_tells_what_failed(machine: Rig, worker: Worker) -> None:
    machine.orchestrator.start("told", {"do": "fail"})
    assert machine.ended("told") == "FAILED"
    assert machine.story("told")[-1] == ((), "Fail", "Fail", "failed", "Hopeless", 0, False)
    worker.failures = [OSError("no")]
    machine.orchestrator.start("task", {"do": "work"})
    assert machine.ended("task") == "FAILED"
    assert machine.story("task")[-1] == ((), "Work", "Task", "failed", "OSError", 0, False)
    worker.failures = [OSError("no")]
    machine.orchestrator.start("map", {"do": "many", "items": ["good"]})
    assert machine.ended("map") == "FAILED"
    assert machine.story("map")[1:] == [
        ((), "Many", "Map", "failed", "OSError", 0, False),
        ((0,), "One", "Task", "failed", "OSError", 0, False),
    ]


def test_the_history_of_a_nested_execution_is_its_own(machine: Rig) -> None:
    machine.orchestrator.start("a", {"do": "nest", "input": {"do": "work"}})
    assert machine.ended("a") == "SUCCEEDED"
    assert [visit.name for visit in machine.orchestrator.history("a")] == ["Choose", "Nest", "Done"]
    assert [visit.name for visit in machine.orchestrator.history("a-nested")] == ["Choose", "Work", "Done"]


def test_a_nested_failure_fails_the_task_that_nests(machine: Rig) -> None:
    machine.orchestrator.start("a", {"do": "nest", "input": {"do": "fail"}})
    assert machine.ended("a") == "FAILED"
    assert machine.ended("a-nested") == "FAILED"
    assert machine.story("a")[-1] == ((), "Nest", "Task", "failed", "States.TaskFailed", 0, False)


def test_a_timer_runs_out(machine: Rig) -> None:
    machine.orchestrator.start("a", {"do": "pause"})
    assert machine.ended("a") == "SUCCEEDED"
    assert machine.story("a")[1] == ((), "Pause", "Wait", "succeeded", None, 0, False)
