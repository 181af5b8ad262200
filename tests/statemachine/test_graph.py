"""The shape of the shipped state machine: what is read in the console, and what the rules ask of it."""

import importlib
import re
from typing import Any

import pytest

from parley.domain import errors
from parley.embedded.asl.loader import load
from tests.support.machine import (
    ROOT,
    TOKEN_RESOURCE,
    Flow,
    definition,
    flows,
    lambda_tasks,
    snake_case,
    successors,
    tasks,
)

MACHINE = definition()
TASKS = tasks(MACHINE)
LAMBDA_TASKS = lambda_tasks(MACHINE)
TOKEN_TASKS = {name for name, state in TASKS.items() if state["Resource"] == TOKEN_RESOURCE}

# They close something, so a failure of theirs has nowhere to go: retries, then the execution fails and repair
# takes over (or, for FailCall, the Map's own Catch).
CLOSING = {"FailTurn", "ContinueAsNew", "CloseRun", "CompleteConversation", "FailCall"}

AWS_ERROR = re.compile(r"(States|Lambda|StepFunctions|Sandbox|Runtime)\.\w+")

# Where a named error goes, and by which state's Catch. Everything else is States.ALL.
QUIET_ENDS = {"": "StaleRun", "HandleToolCalls": "CallAbandoned"}
AFTER_A_DECISION = {"StillPending": "AwaitConfirmation", "SubagentApproved": "OpenSubthread"}
LAST_RESORTS = {"": "FailTurn", "HandleToolCalls": "FailCall"}


def each_state() -> list[Any]:
    return [pytest.param(flow, name, id=name) for flow in flows(MACHINE) for name in flow.states]


def each_task() -> list[Any]:
    return [
        pytest.param(flow, name, id=name)
        for flow in flows(MACHINE)
        for name, state in flow.states.items()
        if state["Type"] == "Task"
    ]


def caught(state: dict[str, Any]) -> dict[str, str]:
    """Which error goes to which state; the first catcher that names it counts."""
    routes: dict[str, str] = {}
    for catcher in state.get("Catch", []):
        for name in catcher["ErrorEquals"]:
            routes.setdefault(name, catcher["Next"])
    return routes


def retried(state: dict[str, Any]) -> set[str]:
    return {name for retrier in state.get("Retry", []) for name in retrier["ErrorEquals"]}


@pytest.mark.parametrize(("flow", "name"), each_state())
def test_every_successor_is_a_state_of_the_same_scope(flow: Flow, name: str) -> None:
    assert successors(flow.states[name]) <= flow.states.keys()


@pytest.mark.parametrize("flow", list(flows(MACHINE)), ids=lambda flow: flow.owner or "machine")
def test_no_state_is_unreachable(flow: Flow) -> None:
    reached: set[str] = set()
    ahead = [flow.start]
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += successors(flow.states[name])
    assert reached == flow.states.keys()


def test_a_name_stands_for_one_state_only() -> None:
    names = [name for flow in flows(MACHINE) for name in flow.states]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("flow", "name"), each_state())
def test_every_state_says_what_it_is_for(flow: Flow, name: str) -> None:
    assert flow.states[name].get("Comment")


@pytest.mark.parametrize(("flow", "name"), each_task())
def test_every_task_has_a_time_limit_and_retries(flow: Flow, name: str) -> None:
    state = flow.states[name]
    assert ("TimeoutSeconds" in state) != ("TimeoutSecondsPath" in state)
    assert state["Retry"]


@pytest.mark.parametrize(("flow", "name"), each_task())
def test_retries_back_off_with_jitter_and_end(flow: Flow, name: str) -> None:
    for retrier in flow.states[name]["Retry"]:
        assert 1 <= retrier["MaxAttempts"] <= 6
        assert retrier["BackoffRate"] > 1
        assert retrier["JitterStrategy"] == "FULL"
        assert retrier["MaxDelaySeconds"] <= 60


@pytest.mark.parametrize("name", sorted(LAMBDA_TASKS))
def test_a_failure_of_lambda_itself_is_retried(name: str) -> None:
    assert {
        "Lambda.ServiceException",
        "Lambda.AWSLambdaException",
        "Lambda.SdkClientException",
        "Lambda.ClientExecutionTimeoutException",
        "Lambda.TooManyRequestsException",
        "Lambda.Unknown",
        "Runtime.ExitError",
        "Sandbox.Timedout",
    } <= retried(LAMBDA_TASKS[name])


@pytest.mark.parametrize("name", sorted(TOKEN_TASKS))
def test_a_token_that_timed_out_is_not_waited_for_again(name: str) -> None:
    assert "States.Timeout" not in retried(TASKS[name])
    assert not {"States.ALL", "States.TaskFailed"} & retried(TASKS[name])
    assert "States.Timeout" in caught(TASKS[name])


@pytest.mark.parametrize(("flow", "name"), each_task())
def test_only_errors_with_a_name_are_retried(flow: Flow, name: str) -> None:
    assert not {"States.ALL", "States.TaskFailed"} & retried(flow.states[name])


@pytest.mark.parametrize("name", sorted(CLOSING))
def test_a_closing_state_retries_and_does_not_catch(name: str) -> None:
    assert "Catch" not in TASKS[name]
    if TASKS[name]["Resource"] != TOKEN_RESOURCE:
        assert "States.Timeout" in retried(TASKS[name])


@pytest.mark.parametrize(("flow", "name"), each_task())
def test_every_other_task_catches_everything(flow: Flow, name: str) -> None:
    if name in CLOSING:
        return
    state = flow.states[name]
    assert state["Catch"][-1]["ErrorEquals"] == ["States.ALL"]
    if name == "RunSubagent":
        # Failed, stopped or started before: the store knows what became of it.
        assert caught(state) == {"States.ALL": "CloseSubthread"}
    elif name == "ReceiveMessage":
        assert caught(state) == {
            "States.Timeout": "CloseRun",
            "StaleRun": "StaleRun",
            "States.ALL": "RunLost",
        }
    else:
        expected = {"StaleRun": QUIET_ENDS[flow.owner], "States.ALL": LAST_RESORTS[flow.owner]}
        expected |= {"AwaitConfirmation": {"States.Timeout": "RunTool"}}.get(name, {})
        expected |= {"RunTool": AFTER_A_DECISION}.get(name, {})
        assert caught(state) == expected


def test_a_call_that_cannot_even_be_failed_fails_the_turn() -> None:
    assert caught(MACHINE["States"]["HandleToolCalls"]) == {"States.ALL": "FailTurn"}


def test_a_lost_inbox_fails_the_execution_so_that_repair_sees_it() -> None:
    assert MACHINE["States"]["RunLost"]["Type"] == "Fail"


def below(base: type[Any]) -> set[type[Any]]:
    return {cls for each in base.__subclasses__() for cls in {each, *below(each)}}


def test_error_names_are_those_of_our_classes_or_of_aws() -> None:
    for name in LAMBDA_TASKS:
        importlib.import_module(f"parley.turns.{snake_case(name)}")
    ours = {
        name
        for flow in flows(MACHINE)
        for state in flow.states.values()
        for name in retried(state) | caught(state).keys()
        if not AWS_ERROR.fullmatch(name)
    }
    assert ours <= {cls.__name__ for cls in below(errors.ParleyError)}


def leaves(base: type[Any]) -> set[str]:
    """The names of the classes below ``base`` that have none below them."""
    subclasses = base.__subclasses__()
    return {name for each in subclasses for name in leaves(each)} if subclasses else {base.__name__}


def test_exactly_the_retryable_errors_of_the_backends_are_retried_everywhere() -> None:
    backends = {"StoreUnavailable", "SaveConflict", "StorageError"}
    for name, state in LAMBDA_TASKS.items():
        ours = {error for error in retried(state) if not AWS_ERROR.fullmatch(error)}
        assert ours - leaves(errors.RetryableProviderError) == backends, name


def test_exactly_the_retryable_errors_of_the_providers_are_retried_by_the_model_step() -> None:
    fatal = leaves(errors.FatalProviderError)
    assert leaves(errors.RetryableProviderError) <= retried(TASKS["InvokeModel"])
    assert not any(fatal & retried(state) for state in TASKS.values())


def test_a_task_that_ran_out_of_time_is_not_tried_as_often_as_one_that_failed_at_once() -> None:
    for name, state in TASKS.items():
        for retrier in state["Retry"]:
            if {"Sandbox.Timedout", "States.Timeout"} & set(retrier["ErrorEquals"]):
                assert retrier["MaxAttempts"] <= 2, name


def test_errors_that_end_a_task_quietly_are_never_retried() -> None:
    assert not any({"StaleRun", "StillPending"} & retried(state) for state in TASKS.values())


@pytest.mark.parametrize("name", sorted(LAMBDA_TASKS))
def test_a_task_state_has_a_handler_and_a_use_case_of_its_name(name: str) -> None:
    module = snake_case(name)
    assert callable(importlib.import_module(f"on_task.{module}").handler)
    assert callable(getattr(importlib.import_module(f"parley.turns.{module}"), module))


def test_every_handler_of_a_task_belongs_to_a_state() -> None:
    modules = {path.stem for path in (ROOT / "functions" / "on_task").glob("*.py")}
    assert modules - {"__init__", "dispatch"} == {snake_case(name) for name in LAMBDA_TASKS}


@pytest.mark.parametrize("name", sorted(LAMBDA_TASKS))
def test_a_task_hands_over_its_state_and_a_token_only_where_it_waits_for_one(name: str) -> None:
    payload = LAMBDA_TASKS[name]["Parameters"]["Payload"]
    expected = {"state.$": "$$.State.Name", "retry_count.$": "$$.State.RetryCount", "input.$": "$"}
    if name in TOKEN_TASKS:
        expected["token.$"] = "$$.Task.Token"
        expected["entered_at.$"] = "$$.State.EnteredTime"
    assert payload == expected


@pytest.mark.parametrize("name", ["HandleToolCalls", "RunSubagent", *sorted(TOKEN_TASKS)])
def test_what_could_grow_or_carry_data_is_discarded(name: str) -> None:
    states = {key: state for flow in flows(MACHINE) for key, state in flow.states.items()}
    assert states[name]["ResultPath"] is None


@pytest.mark.parametrize("name", sorted(LAMBDA_TASKS))
def test_a_task_keeps_only_named_fields_of_its_result(name: str) -> None:
    state = LAMBDA_TASKS[name]
    assert state["ResultPath"] is None or set(state["ResultSelector"]) <= {
        "next.$", "turn.$", "step.$", "seq.$", "calls.$", "wait_seconds.$", "waits.$", "name.$", "run.$",
    }  # fmt: skip


def test_a_map_runs_all_calls_of_a_reply_at_once() -> None:
    assert MACHINE["States"]["HandleToolCalls"]["MaxConcurrency"] == 40


def test_a_subagent_is_a_nested_execution_of_this_same_machine() -> None:
    state = TASKS["RunSubagent"]
    assert state["Resource"] == "arn:aws:states:::states:startExecution.sync:2"
    assert state["Parameters"]["StateMachineArn.$"] == "$$.StateMachine.Id"


def test_no_logic_is_written_in_the_machine_beyond_its_choices() -> None:
    assert {state["Type"] for flow in flows(MACHINE) for state in flow.states.values()} <= {
        "Task", "Choice", "Map", "Wait", "Succeed", "Fail",
    }  # fmt: skip
    assert "States." not in str([state.get("Parameters") for state in TASKS.values()])


def test_the_embedded_interpreter_accepts_the_definition() -> None:
    machine = load("arn:aws:states:local:000000000000:stateMachine:parley-conversation", MACHINE)
    assert machine is not None
