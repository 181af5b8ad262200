"""Claims and leases: who may finish a Task, and what becomes of one whose worker is gone."""

import threading
from typing import Any

import pytest

from parley.embedded.interpreter import TaskTimedOut
from tests.statemachine.corpus import call, catch, each, flow, passing, retry, wait_for_token
from tests.statemachine.interpreter_stage import Killed, Make, wait_until

_COUNTED = {"Payload": {"tries.$": "$$.State.RetryCount"}}


class _DiesAtFirst:
    """A function whose worker dies in the first `times` calls; then it returns its payload."""

    def __init__(self, times: int = 1) -> None:
        self.payloads: list[Any] = []
        self._times = times

    def __call__(self, function: str, payload: Any) -> Any:
        self.payloads.append(payload)
        if len(self.payloads) <= self._times:
            raise Killed
        return payload


def test_the_task_of_a_dead_worker_is_handed_out_again_at_the_end_of_its_lease(make: Make) -> None:
    function = _DiesAtFirst()
    stage = make(flow(("T", call(payload=_COUNTED))), function, lease_seconds=60)
    stage.start()
    stage.rest()
    stage.clock.advance(59)
    stage.rest()
    assert function.payloads == [{"tries": 0}]
    stage.clock.advance(1)
    assert stage.finish().status == "SUCCEEDED"
    assert function.payloads == [{"tries": 0}, {"tries": 1}]


def test_a_dead_workers_lease_is_remembered_by_an_execution_that_memory_had_no_room_for(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.embedded.interpreter.engine._PARKED_IN_MEMORY", 0)
    calls: list[str] = []

    def function(name: str, payload: Any) -> Any:
        calls.append(payload)
        if payload == "dies" and calls.count("dies") == 1:
            wait_until(lambda: not len(stage.interpreter._engine.cache))
            raise Killed

    stage = make(flow(("M", each(("T", call())))), function, lease_seconds=60)
    stage.start(data=["dies", "lives"])
    stage.rest()
    stage.clock.advance(59)
    stage.rest()
    assert sorted(calls) == ["dies", "lives"]
    stage.clock.advance(1)
    assert stage.finish().status == "SUCCEEDED"
    assert sorted(calls) == ["dies", "dies", "lives"]


def test_a_delivery_after_a_death_uses_up_no_retry(make: Make) -> None:
    function = _DiesAtFirst(3)
    stage = make(flow(("T", call(payload=_COUNTED, Retry=[retry("X", MaxAttempts=1)]))), function)
    stage.start()
    assert stage.finish(step=60).status == "SUCCEEDED"
    assert [payload["tries"] for payload in function.payloads] == [0, 1, 2, 3]


def test_a_thread_outlives_the_death_of_its_worker(make: Make) -> None:
    function = _DiesAtFirst()
    stage = make(flow(("T", call())), function, workers=1)
    stage.start("dies")
    stage.rest()
    stage.start("lives")
    assert stage.finish("lives").status == "SUCCEEDED"


def test_a_task_that_runs_longer_than_its_lease_is_not_handed_out_twice(make: Make) -> None:
    gate = threading.Event()
    calls: list[str] = []

    def function(name: str, payload: Any) -> Any:
        calls.append(name)
        gate.wait(120)

    stage = make(flow(("T", call())), function, lease_seconds=60)
    stage.start()
    wait_until(lambda: calls)
    stage.clock.advance(600)
    gate.set()
    assert stage.finish().status == "SUCCEEDED"
    assert calls == ["f"]


def test_a_result_after_a_timeout_is_dropped(make: Make) -> None:
    gate = threading.Event()
    calls: list[int] = []

    def function(name: str, payload: Any) -> Any:
        calls.append(1)
        gate.wait(120)
        return "late"

    machine = flow(
        ("T", call(TimeoutSeconds=5, Catch=[catch("States.Timeout", ResultPath=None)], End=True)),
        ("Caught", passing(Result="timed out")),
    )
    stage = make(machine, function)
    stage.start()
    wait_until(lambda: calls)
    stage.clock.advance(5)
    assert stage.interpreter.describe_execution("x").output == '"timed out"'
    gate.set()
    stage.rest()
    assert stage.interpreter.describe_execution("x").output == '"timed out"'


def test_a_stopped_executions_running_task_changes_nothing(make: Make) -> None:
    gate = threading.Event()
    calls: list[int] = []

    def function(name: str, payload: Any) -> Any:
        calls.append(1)
        gate.wait(120)

    stage = make(flow(("T", call()), ("Never", call("never"))), function)
    stage.start()
    wait_until(lambda: calls)
    stage.interpreter.stop_execution("x", "Enough", "of it")
    gate.set()
    stage.rest()
    execution = stage.interpreter.describe_execution("x")
    assert (execution.status, execution.error, execution.cause) == ("ABORTED", "Enough", "of it")
    [visit] = stage.interpreter.get_execution_history("x")
    assert (visit.name, visit.outcome) == ("T", "aborted")


def test_a_dead_workers_token_still_counts(make: Make) -> None:
    tokens: list[str] = []

    def function(name: str, payload: Any) -> Any:
        tokens.append(payload["token"])
        raise Killed

    stage = make(flow(("T", wait_for_token())), function)
    stage.start()
    stage.rest()
    stage.interpreter.send_task_success(tokens[0], '"answered"')
    assert stage.interpreter.describe_execution("x").output == '"answered"'
    stage.clock.advance(3600)
    stage.rest()
    assert len(tokens) == 1


def test_the_same_try_delivered_again_has_the_same_token(make: Make) -> None:
    tokens: list[str] = []

    def function(name: str, payload: Any) -> Any:
        tokens.append(payload["token"])
        if len(tokens) == 1:
            raise Killed

    stage = make(flow(("T", wait_for_token())), function)
    stage.start()
    stage.rest()
    stage.clock.advance(60)
    wait_until(lambda: len(tokens) == 2)
    assert tokens[0] == tokens[1]


def test_a_function_that_answers_its_token_and_then_dies_has_answered(make: Make) -> None:
    def function(name: str, payload: Any) -> Any:
        if name == "f":
            stage.interpreter.send_task_success(payload["token"], "1")
            raise Killed
        return "went on"

    stage = make(flow(("T", wait_for_token()), ("Next", call("g"))), function)
    stage.start()
    assert stage.finish().output == '"went on"'


def test_a_failing_iteration_voids_the_claims_of_its_siblings(make: Make) -> None:
    gate, begun = threading.Event(), threading.Event()

    def function(name: str, payload: Any) -> Any:
        if payload == "slow":
            begun.set()
            gate.wait(120)
            return "too late"
        begun.wait(120)
        raise ValueError("bad")

    machine = flow(
        ("M", each(("T", call()), Catch=[catch("ValueError", ResultPath=None)])),
        ("Caught", passing(Result="caught")),
    )
    stage = make(machine, function)
    stage.start(data=["slow", "bad"])
    assert stage.finish().output == '"caught"'
    gate.set()
    stage.rest()
    outcomes = {
        (visit.name, visit.iteration): visit.outcome for visit in stage.interpreter.get_execution_history("x")
    }
    assert outcomes == {
        ("M", ()): "failed",
        ("T", (0,)): "aborted",
        ("T", (1,)): "failed",
        ("Caught", ()): "succeeded",
    }


def test_a_token_answered_by_many_threads_at_once_counts_once(make: Make) -> None:
    tokens: list[str] = []
    stage = make(flow(("T", wait_for_token())), lambda name, payload: tokens.append(payload["token"]))
    stage.start()
    stage.rest()
    results: list[str] = []
    together = threading.Barrier(8)

    def answer(number: int) -> None:
        together.wait()
        try:
            stage.interpreter.send_task_success(tokens[0], str(number))
            results.append(str(number))
        except TaskTimedOut:
            pass

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [stage.interpreter.describe_execution("x").output]
