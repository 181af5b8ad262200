"""What runs and what is told of it: nested executions, history, counts, ends, memory."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parley.embedded.interpreter import (
    ExecutionDoesNotExist,
)
from tests.statemachine.corpus import call, each, flow, nested
from tests.statemachine.corpus_player import with_arns
from tests.statemachine.interpreter_stage import CHILD, MAIN, Killed, Stage, wait_until
from tests.statemachine.interpreter_world import MACHINES, PARENT, Functions


def test_a_stopped_child_fails_its_parents_task(stage: Stage) -> None:
    stage.start("parent", machine=PARENT)
    stage.rest()
    stage.interpreter.stop_execution("the-child", "Enough", "of it")
    stage.rest()
    parent = stage.interpreter.describe_execution("parent")
    assert (parent.status, parent.error) == ("FAILED", "States.TaskFailed")
    described = json.loads(parent.cause or "")
    assert (described["Status"], described["Error"], described["Name"]) == ("ABORTED", "Enough", "the-child")


def test_a_nested_start_of_a_running_name_with_its_input_waits_for_that_one(
    stage: Stage, functions: Functions
) -> None:
    stage.start("the-child", machine=CHILD)
    stage.start("parent", machine=PARENT)
    stage.rest()
    stage.interpreter.send_task_success(functions.tokens[0], '"shared"')
    stage.rest()
    parent = stage.interpreter.describe_execution("parent")
    assert json.loads(parent.output or "")["Output"] == "shared"
    assert len(functions.tokens) == 1


def test_nested_executions_block_no_worker(tmp_path: Path, functions: Functions) -> None:
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


def test_transitions_count_states_entered_while_it_runs_and_after(stage: Stage, functions: Functions) -> None:
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


def test_the_end_is_announced_once_after_the_commit(stage: Stage, functions: Functions) -> None:
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


def test_closed_executions_are_forgotten_after_90_days(stage: Stage, functions: Functions) -> None:
    stage.start("closed")
    stage.start("waiting")
    stage.rest()
    stage.interpreter.stop_execution("closed")
    stage.clock.advance(89 * 86_400)
    stage.open()
    assert stage.interpreter.describe_execution("closed").status == "ABORTED"
    stage.clock.advance(86_401)
    stage.open()
    with pytest.raises(ExecutionDoesNotExist):
        stage.interpreter.describe_execution("closed")
    assert stage.interpreter.describe_execution("waiting").status == "RUNNING"
    stage.start("closed", {"used": "again"})


def test_executions_that_wait_are_few_in_memory_and_go_on_all_the_same(
    tmp_path: Path, functions: Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.embedded.interpreter.engine._PARKED_IN_MEMORY", 3)
    played = Stage(tmp_path / "few", MACHINES, functions)
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
