"""What callers ask of the interpreter: start, answer, stop, describe, history; and what it refuses."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parley.embedded.interpreter import (
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    InvalidExecutionInput,
    InvalidName,
    InvalidToken,
    StateMachineDoesNotExist,
    TaskTimedOut,
    ValidationException,
)
from tests.statemachine.corpus import call, each, flow, nested, passing, wait_for_token
from tests.statemachine.corpus_player import with_arns
from tests.statemachine.interpreter_stage import CHILD, MAIN, Killed, Stage, wait_until


class _Functions:
    """ "ask" keeps its token; the others return their payload."""

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def __call__(self, function: str, payload: Any) -> Any:
        if function == "ask":
            self.tokens.append(payload["token"])
            return None
        if function == "unmarshallable":
            return {"of": object()}
        if function == "nan":
            return float("nan")
        return payload


_MACHINES = {
    "main": flow(("Work", call("work")), ("Ask", wait_for_token("ask"))),
    "child": flow(("Ask", wait_for_token("ask"))),
    "parent": with_arns(flow(("Nest", nested("the-child"))), {"child": CHILD}),
    "unmarshallable": flow(("T", call("unmarshallable"))),
    "nan": flow(("T", call("nan"))),
    "map": flow(("M", each(("T", call("work"))))),
    "pass": flow(("P", passing())),
}
_PARENT = MAIN.replace("main", "parent")


@pytest.fixture
def functions() -> _Functions:
    return _Functions()


@pytest.fixture
def stage(tmp_path: Path, functions: _Functions) -> Iterator[Stage]:
    made = Stage(tmp_path, _MACHINES, functions)
    yield made
    made.close()


def test_a_repeated_start_finds_the_running_execution(stage: Stage) -> None:
    first = stage.interpreter.start_execution(MAIN, "x", '{"a": 1}')
    again = stage.interpreter.start_execution(MAIN, "x", '{"a":1}')
    assert (first.started, again.started) == (True, False)
    assert again.start_date == first.start_date


def test_a_used_name_with_another_input_is_refused(stage: Stage) -> None:
    stage.start("x", {"a": 1})
    with pytest.raises(ExecutionAlreadyExists):
        stage.start("x", {"a": 2})


def test_a_used_name_for_another_machine_is_refused(stage: Stage) -> None:
    stage.start("x")
    with pytest.raises(ExecutionAlreadyExists):
        stage.start("x", machine=CHILD)


def test_a_closed_executions_name_is_refused_even_with_the_same_input(
    stage: Stage, functions: _Functions
) -> None:
    stage.start("x")
    stage.rest()
    stage.interpreter.send_task_success(functions.tokens[0], "{}")
    with pytest.raises(ExecutionAlreadyExists):
        stage.start("x")


def test_many_threads_that_start_one_name_start_it_once(stage: Stage, functions: _Functions) -> None:
    together = threading.Barrier(12)
    started: list[bool] = []

    def start() -> None:
        together.wait()
        started.append(stage.interpreter.start_execution(MAIN, "x", "{}").started)

    threads = [threading.Thread(target=start) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stage.rest()
    assert sorted(started) == [False] * 11 + [True]
    assert len(functions.tokens) == 1


@pytest.mark.parametrize("name", ["a", "A-1_b.c", "x" * 80, "äöü", "a+b=c@d(e)'!"])
def test_a_name_of_allowed_characters_is_taken(stage: Stage, name: str) -> None:
    stage.start(name)
    assert stage.interpreter.describe_execution(name).name == name


@pytest.mark.parametrize(
    "name", ["", "x" * 81, *(f"a{bad}b" for bad in ' \t\n<>{}[]?*"#%\\^|~`$&,;:/\x00\x85')]
)
def test_a_name_with_a_forbidden_character_or_length_is_refused(stage: Stage, name: str) -> None:
    with pytest.raises(InvalidName):
        stage.start(name)


@pytest.mark.parametrize("text", ["", "{", "NaN", "[1,]", '"' + "x" * 262_144 + '"'])
def test_an_input_that_is_no_json_or_too_large_is_refused(stage: Stage, text: str) -> None:
    with pytest.raises(InvalidExecutionInput):
        stage.interpreter.start_execution(MAIN, "x", text)
    stage.start("x")


def test_an_unknown_machine_or_execution_is_refused(stage: Stage) -> None:
    with pytest.raises(StateMachineDoesNotExist):
        stage.start(machine="arn:aws:states:local:000000000000:stateMachine:none")
    for ask in (
        stage.interpreter.describe_execution,
        stage.interpreter.get_execution_history,
        stage.interpreter.stop_execution,
    ):
        with pytest.raises(ExecutionDoesNotExist):
            ask("none")


@pytest.mark.parametrize("token", ["", "x", "AAAA", "é", "a" * 2000])
def test_a_token_that_was_never_given_out_is_invalid(stage: Stage, token: str) -> None:
    with pytest.raises(InvalidToken):
        stage.interpreter.send_task_success(token, "{}")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(position=st.integers(0, 40), letter=st.sampled_from("ABCxyz019-_"))
def test_a_forged_token_is_invalid(stage: Stage, functions: _Functions, position: int, letter: str) -> None:
    if not functions.tokens:
        stage.start()
        stage.rest()
    token = functions.tokens[0]
    position = min(position, 20)  # within the signature
    forged = token[:position] + letter + token[position + 1 :]
    if forged != token:
        with pytest.raises(InvalidToken):
            stage.interpreter.send_task_success(forged, "{}")


def test_an_error_or_cause_that_is_too_long_is_refused(stage: Stage, functions: _Functions) -> None:
    stage.start()
    stage.rest()
    with pytest.raises(ValidationException):
        stage.interpreter.send_task_failure(functions.tokens[0], "x" * 257, "")
    with pytest.raises(ValidationException):
        stage.interpreter.send_task_failure(functions.tokens[0], "x", "x" * 32_769)


def test_stopping_twice_and_stopping_what_is_closed_changes_nothing(stage: Stage) -> None:
    stage.start()
    stage.rest()
    stage.interpreter.stop_execution("x", "First", "cause")
    stage.interpreter.stop_execution("x", "Second", "cause")
    assert stage.interpreter.describe_execution("x").error == "First"


def test_a_token_of_a_stopped_execution_has_timed_out(stage: Stage, functions: _Functions) -> None:
    stage.start()
    stage.rest()
    stage.interpreter.stop_execution("x")
    with pytest.raises(TaskTimedOut):
        stage.interpreter.send_task_success(functions.tokens[0], "{}")


def test_a_stopped_child_fails_its_parents_task(stage: Stage) -> None:
    stage.start("parent", machine=_PARENT)
    stage.rest()
    stage.interpreter.stop_execution("the-child", "Enough", "of it")
    stage.rest()
    parent = stage.interpreter.describe_execution("parent")
    assert (parent.status, parent.error) == ("FAILED", "States.TaskFailed")
    described = json.loads(parent.cause or "")
    assert (described["Status"], described["Error"], described["Name"]) == ("ABORTED", "Enough", "the-child")


def test_a_nested_start_of_a_running_name_with_its_input_waits_for_that_one(
    stage: Stage, functions: _Functions
) -> None:
    stage.start("the-child", machine=CHILD)
    stage.start("parent", machine=_PARENT)
    stage.rest()
    stage.interpreter.send_task_success(functions.tokens[0], '"shared"')
    stage.rest()
    parent = stage.interpreter.describe_execution("parent")
    assert json.loads(parent.output or "")["Output"] == "shared"
    assert len(functions.tokens) == 1


def test_nested_executions_block_no_worker(tmp_path: Path, functions: _Functions) -> None:
    levels = {
        "a": with_arns(flow(("N", nested("in-a", machine="b"))), {"b": MAIN.replace("main", "b")}),
        "b": with_arns(flow(("N", nested("in-b", machine="c"))), {"c": MAIN.replace("main", "c")}),
        "c": flow(("T", call("work"))),
    }
    played = Stage(tmp_path / "one-worker", levels, functions, workers=1)
    played.start(machine=MAIN.replace("main", "a"))
    assert played.finish().status == "SUCCEEDED"
    played.close()


def test_the_history_tells_states_times_outcomes_and_what_is_waited_for(stage: Stage) -> None:
    stage.start()
    stage.rest()
    start = stage.clock.now()
    stage.clock.advance(5)
    done, waiting = stage.interpreter.get_execution_history("x")
    assert (done.name, done.type, done.outcome, done.exited_at, done.waiting) == (
        "Work",
        "Task",
        "succeeded",
        start,
        False,
    )
    assert (waiting.name, waiting.outcome, waiting.entered_at, waiting.exited_at, waiting.waiting) == (
        "Ask",
        "running",
        start,
        None,
        True,
    )


def test_the_history_names_the_iterations_of_a_map(stage: Stage) -> None:
    stage.start(data=[1, 2], machine=MAIN.replace("main", "map"))
    stage.finish()
    visits = stage.interpreter.get_execution_history("x")
    assert [(visit.name, visit.iteration) for visit in visits] == [("M", ()), ("T", (0,)), ("T", (1,))]


def test_transitions_count_states_entered_while_it_runs_and_after(
    stage: Stage, functions: _Functions
) -> None:
    stage.start()
    stage.rest()
    assert stage.interpreter.describe_execution("x").transitions == 2
    stage.interpreter.send_task_success(functions.tokens[0], "{}")
    assert stage.interpreter.describe_execution("x").transitions == 2
    # ExecutionStarted; Work: entered, scheduled, started, succeeded, exited; Ask: the same and submitted;
    # ExecutionSucceeded.
    assert stage.interpreter.describe_execution("x").events == 1 + 5 + 6 + 1


@pytest.mark.parametrize("machine", ["unmarshallable", "nan"])
def test_a_result_that_is_no_json_is_an_error_of_the_function(stage: Stage, machine: str) -> None:
    stage.start(machine=MAIN.replace("main", machine))
    execution = stage.finish()
    assert (execution.status, execution.error) == ("FAILED", "Runtime.MarshalError")


def test_the_end_is_announced_once_after_the_commit(stage: Stage, functions: _Functions) -> None:
    stage.start()
    stage.rest()
    stage.interpreter.send_task_failure(functions.tokens[0], "Bad", "luck")
    wait_until(lambda: stage.closed)
    stage.rest()
    assert stage.closed == [stage.interpreter.describe_execution("x")]


def test_an_execution_that_never_waits_is_over_when_the_start_returns(stage: Stage) -> None:
    stage.start(data={"a": 1}, machine=MAIN.replace("main", "pass"))
    assert json.loads(stage.interpreter.describe_execution("x").output or "") == {"a": 1}


def test_a_function_cannot_change_the_state_through_its_payload(tmp_path: Path) -> None:
    def spoil(function: str, payload: Any) -> Any:
        payload["a"].append("spoilt")
        return None

    played = Stage(tmp_path, {"main": flow(("T", call(ResultPath=None)))}, spoil)
    played.start(data={"a": []})
    assert json.loads(played.finish().output or "") == {"a": []}
    played.close()


def test_executions_that_wait_are_few_in_memory_and_go_on_all_the_same(
    tmp_path: Path, functions: _Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.embedded.interpreter.engine._PARKED_IN_MEMORY", 3)
    played = Stage(tmp_path / "few", _MACHINES, functions)
    for number in range(20):
        played.start(f"x{number}", {"n": number})
    played.rest()
    assert len(played.interpreter._engine.cache) <= 3
    for token in functions.tokens:
        played.interpreter.send_task_success(token, "{}")
    statuses = {played.interpreter.describe_execution(f"x{number}").status for number in range(20)}
    assert statuses == {"SUCCEEDED"}
    assert len(played.interpreter._engine.cache) == 0
    played.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    items=st.lists(st.integers(0, 99), max_size=8),
    concurrency=st.integers(0, 4),
    deaths=st.sets(st.integers(0, 10)),
)
def test_a_map_gives_its_results_in_order_however_its_workers_die(
    tmp_path_factory: pytest.TempPathFactory, items: list[int], concurrency: int, deaths: set[int]
) -> None:
    calls: list[int] = []
    lock = threading.Lock()

    def function(name: str, payload: Any) -> Any:
        with lock:
            calls.append(payload)
            number = len(calls) - 1
        if number in deaths:
            raise Killed
        return payload * 2

    machine = flow(("M", each(("T", call()), MaxConcurrency=concurrency)))
    played = Stage(tmp_path_factory.mktemp("map"), {"main": machine}, function, workers=3)
    played.start(data=items)
    execution = played.finish(step=60)
    played.close()
    assert json.loads(execution.output or "") == [item * 2 for item in items]
