"""What callers ask of the interpreter: starts, answers, stops; and what it refuses."""

import threading

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
from tests.statemachine.interpreter_stage import CHILD, MAIN, Stage
from tests.statemachine.interpreter_world import Functions


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
    stage: Stage, functions: Functions
) -> None:
    stage.start("x")
    stage.rest()
    stage.interpreter.send_task_success(functions.tokens[0], "{}")
    with pytest.raises(ExecutionAlreadyExists):
        stage.start("x")


def test_many_threads_that_start_one_name_start_it_once(stage: Stage, functions: Functions) -> None:
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
def test_a_forged_token_is_invalid(stage: Stage, functions: Functions, position: int, letter: str) -> None:
    if not functions.tokens:
        stage.start()
        stage.rest()
    token = functions.tokens[0]
    position = min(position, 20)  # within the signature
    forged = token[:position] + letter + token[position + 1 :]
    if forged != token:
        with pytest.raises(InvalidToken):
            stage.interpreter.send_task_success(forged, "{}")


def test_an_error_or_cause_that_is_too_long_is_refused(stage: Stage, functions: Functions) -> None:
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


def test_a_token_of_a_stopped_execution_has_timed_out(stage: Stage, functions: Functions) -> None:
    stage.start()
    stage.rest()
    stage.interpreter.stop_execution("x")
    with pytest.raises(TaskTimedOut):
        stage.interpreter.send_task_success(functions.tokens[0], "{}")
