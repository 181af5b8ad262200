"""What only StepFunctionsOrchestrator has to stand, and histories as AWS writes them and moto does not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from parley.aws import clients
from parley.aws.history import visits_of
from parley.aws.orchestrator import StepFunctionsOrchestrator
from parley.domain.errors import StoreUnavailable
from parley.turns.ports import ExecutionStatus, Started
from tests.support.moto_aws import MockedAws

MACHINE = MockedAws.machine_arn()
EXECUTION = MACHINE.replace(":stateMachine:", ":execution:") + ":a"


@pytest.fixture
def client(aws: MockedAws) -> Any:
    return clients.stepfunctions(aws.session)


@pytest.fixture
def stubbed(client: Any) -> Iterator[Stubber]:
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def orchestrator(client: Any) -> StepFunctionsOrchestrator:
    return StepFunctionsOrchestrator(client, MACHINE)


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(1_700_000_000 + seconds, UTC)


def event(number: int, before: int, kind: str, **details: Any) -> dict[str, Any]:
    return {
        "id": number,
        "previousEventId": before,
        "type": kind,
        "timestamp": at(number),
        **{f"{name}EventDetails": value for name, value in details.items()},
    }


def described(status: str) -> dict[str, Any]:
    return {"executionArn": EXECUTION, "stateMachineArn": MACHINE, "status": status, "startDate": at(0)}


def test_a_payload_is_the_same_text_however_it_was_built(
    stubbed: Stubber, orchestrator: StepFunctionsOrchestrator
) -> None:
    for payload in ({"b": 1, "a": "é"}, {"a": "é", "b": 1}):
        stubbed.add_response(
            "start_execution",
            {"executionArn": EXECUTION, "startDate": at(0)},
            {"stateMachineArn": MACHINE, "name": "a", "input": '{"a":"é","b":1}'},
        )
        assert orchestrator.start("a", payload) is Started.STARTED


def test_a_name_that_exists_and_is_not_yet_described_runs(
    stubbed: Stubber, orchestrator: StepFunctionsOrchestrator
) -> None:
    stubbed.add_client_error("start_execution", "ExecutionAlreadyExists", http_status_code=400)
    stubbed.add_client_error("describe_execution", "ExecutionDoesNotExist", http_status_code=400)
    assert orchestrator.start("a", {}) is Started.RUNNING


def test_an_execution_that_waits_for_its_redrive_runs(
    stubbed: Stubber, orchestrator: StepFunctionsOrchestrator
) -> None:
    stubbed.add_response("describe_execution", described("PENDING_REDRIVE"), {"executionArn": EXECUTION})
    assert orchestrator.status("a") is ExecutionStatus.RUNNING


@pytest.mark.parametrize(
    ("code", "status"),
    [("ThrottlingException", 400), ("ExecutionLimitExceeded", 400), ("InternalServerError", 500)],
)
def test_what_may_work_later_is_store_unavailable(
    stubbed: Stubber, orchestrator: StepFunctionsOrchestrator, code: str, status: int
) -> None:
    operations = {
        "start_execution": lambda: orchestrator.start("a", {}),
        "send_task_success": lambda: orchestrator.wake("t"),
        "describe_execution": lambda: orchestrator.status("a"),
        "get_execution_history": lambda: orchestrator.history("a"),
        "stop_execution": lambda: orchestrator.stop("a", "why"),
    }
    for operation, call in operations.items():
        stubbed.add_client_error(operation, code, http_status_code=status)
        with pytest.raises(StoreUnavailable):
            call()


def test_a_missing_machine_is_loud(stubbed: Stubber, orchestrator: StepFunctionsOrchestrator) -> None:
    stubbed.add_client_error("start_execution", "StateMachineDoesNotExist", http_status_code=400)
    with pytest.raises(ClientError):
        orchestrator.start("a", {})


def test_a_history_of_many_pages_is_read_whole_and_without_data(
    stubbed: Stubber, orchestrator: StepFunctionsOrchestrator
) -> None:
    asked = {"executionArn": EXECUTION, "maxResults": 1000, "includeExecutionData": False}
    entered = event(2, 1, "PassStateEntered", stateEntered={"name": "A"})
    exited = event(3, 2, "PassStateExited", stateExited={"name": "A"})
    stubbed.add_response(
        "get_execution_history",
        {"events": [event(1, 0, "ExecutionStarted"), entered], "nextToken": "more"},
        asked,
    )
    stubbed.add_response("get_execution_history", {"events": [exited]}, {**asked, "nextToken": "more"})
    (visit,) = orchestrator.history("a")
    assert (visit.name, visit.type, visit.outcome) == ("A", "Pass", "succeeded")
    assert (visit.entered_at, visit.exited_at) == (at(2).timestamp(), at(3).timestamp())


MAP = [
    event(1, 0, "ExecutionStarted"),
    event(2, 0, "MapStateEntered", stateEntered={"name": "M"}),
    event(3, 2, "MapStateStarted", mapStateStarted={"length": 2}),
    event(4, 3, "MapIterationStarted", mapIterationStarted={"name": "M", "index": 0}),
    event(5, 4, "TaskStateEntered", stateEntered={"name": "T"}),
    event(6, 5, "TaskScheduled", taskScheduled={"resource": "invoke"}),
    event(7, 3, "MapIterationStarted", mapIterationStarted={"name": "M", "index": 1}),
    event(8, 7, "TaskStateEntered", stateEntered={"name": "T"}),
    event(9, 8, "TaskScheduled", taskScheduled={"resource": "invoke.waitForTaskToken"}),
    event(10, 9, "TaskStarted", taskStarted={"resource": "invoke.waitForTaskToken"}),
    event(11, 10, "TaskSubmitted", taskSubmitted={"resource": "invoke.waitForTaskToken"}),
]


def brief(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(v.name, v.iteration, v.outcome, v.error, v.waiting) for v in visits_of(events)]


def test_branches_of_a_map_are_told_apart_while_they_run() -> None:
    assert brief(MAP) == [
        ("M", (), "running", None, False),
        ("T", (0,), "running", None, False),
        ("T", (1,), "running", None, True),
    ]


def test_a_failing_branch_aborts_its_siblings_and_a_catch_goes_on() -> None:
    events = [
        *MAP,
        event(12, 6, "TaskFailed", taskFailed={"error": "Wrong"}),
        event(13, 12, "MapIterationFailed", mapIterationFailed={"name": "M", "index": 0}),
        event(14, 11, "TaskStateAborted"),
        event(15, 14, "MapIterationAborted", mapIterationAborted={"name": "M", "index": 1}),
        event(16, 13, "MapStateFailed"),
        event(17, 16, "MapStateExited", stateExited={"name": "M"}),
        event(18, 17, "PassStateEntered", stateEntered={"name": "P"}),
    ]
    assert brief(events) == [
        ("M", (), "failed", "Wrong", False),
        ("T", (0,), "failed", "Wrong", False),
        ("T", (1,), "aborted", None, False),
        ("P", (), "running", None, False),
    ]


def test_a_retried_map_runs_again_within_one_visit() -> None:
    events = [
        *MAP,
        event(12, 6, "TaskFailed", taskFailed={"error": "Wrong"}),
        event(13, 12, "MapIterationFailed", mapIterationFailed={"name": "M", "index": 0}),
        event(14, 11, "MapIterationAborted", mapIterationAborted={"name": "M", "index": 1}),
        event(15, 13, "MapStateFailed"),
        event(16, 15, "MapStateStarted", mapStateStarted={"length": 1}),
        event(17, 16, "MapIterationStarted", mapIterationStarted={"name": "M", "index": 0}),
        event(18, 17, "TaskStateEntered", stateEntered={"name": "T"}),
        event(19, 18, "TaskScheduled", taskScheduled={"resource": "invoke"}),
        event(20, 19, "TaskSucceeded", taskSucceeded={"resource": "invoke"}),
        event(21, 20, "TaskStateExited", stateExited={"name": "T"}),
        event(22, 21, "MapIterationSucceeded", mapIterationSucceeded={"name": "M", "index": 0}),
        event(23, 22, "MapStateSucceeded"),
        event(24, 23, "MapStateExited", stateExited={"name": "M"}),
        event(25, 24, "ExecutionSucceeded"),
    ]
    assert brief(events) == [
        ("M", (), "succeeded", None, False),
        ("T", (0,), "failed", "Wrong", False),
        ("T", (1,), "aborted", None, False),
        ("T", (0,), "succeeded", None, False),
    ]
    assert [visit.retries for visit in visits_of(events)] == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("end", "outcome"), [("ExecutionAborted", "aborted"), ("ExecutionTimedOut", "timed_out")]
)
def test_what_ends_from_outside_closes_every_visit(end: str, outcome: str) -> None:
    events = [*MAP, event(12, 0, end)]
    assert {visit.outcome for visit in visits_of(events)} == {outcome}
    assert all(visit.exited_at == at(12).timestamp() for visit in visits_of(events))
