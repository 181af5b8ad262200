"""One owner after the other: closing, taking over, and the results that come too late."""

import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.statemachine.corpus import call, flow, nested, passing, wait_for_token
from tests.statemachine.corpus_player import with_arns
from tests.statemachine.interpreter_stage import CHILD, Killed, Make, MortalDatabase, Stage, wait_until

_COUNTED = {"Payload": {"tries.$": "$$.State.RetryCount"}}


def test_opening_again_frees_the_claims_of_the_old_owner_at_once(make: Make) -> None:
    gate = threading.Event()
    payloads: list[Any] = []

    def function(name: str, payload: Any) -> Any:
        payloads.append(payload)
        if len(payloads) == 1:
            gate.wait(120)
            return "late"
        return "in time"

    stage = make(flow(("T", call(payload=_COUNTED)), ("Next", passing())), function)
    stage.start()
    wait_until(lambda: payloads)
    old = stage.interpreter
    stage.open()
    assert stage.finish().output == '"in time"'
    assert payloads == [{"tries": 0}, {"tries": 1}]
    gate.set()
    wait_until(old.at_rest)
    assert stage.interpreter.describe_execution("x").output == '"in time"'
    assert [visit.name for visit in stage.interpreter.get_execution_history("x")] == ["T", "Next"]


def test_an_execution_whose_definition_is_supported_no_more_fails_and_the_others_go_on(make: Make) -> None:
    stage = make(flow(("T", wait_for_token())), lambda name, payload: None)
    stage.start("lost")
    stage.rest()
    stage.interpreter.close()
    unsupported = '{"StartAt":"P","States":{"P":{"Type":"Parallel"}}}'
    stage.database.write(
        lambda connection: connection.execute("UPDATE definition SET body = ?", (unsupported,))
    )
    again = make(flow(("T", wait_for_token()), Comment="another definition"), lambda name, payload: None)
    lost = again.interpreter.describe_execution("lost")
    assert (lost.status, lost.error) == ("FAILED", "States.Runtime")
    assert "Parallel" in (lost.cause or "")
    again.start("kept")
    again.rest()
    assert again.interpreter.describe_execution("kept").status == "RUNNING"


def test_a_task_that_outlives_the_closing_is_done_by_the_next_owner(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.embedded.interpreter.service._GRACE", 0.05)
    gate = threading.Event()
    calls: list[int] = []

    def function(name: str, payload: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            return "second"
        gate.wait(120)
        return "first"

    stage = make(flow(("T", call())), function)
    stage.start()
    wait_until(lambda: calls)
    old = stage.interpreter
    old.close()
    stage.database.close()
    stage.open()
    assert stage.finish().output == '"second"'
    gate.set()
    wait_until(old.at_rest)
    assert stage.interpreter.describe_execution("x").output == '"second"'


def test_closing_lets_a_running_task_finish_and_begins_no_other(make: Make) -> None:
    begun, gate = threading.Event(), threading.Event()
    calls: list[str] = []

    def function(name: str, payload: Any) -> Any:
        calls.append(name)
        begun.set()
        gate.wait(120)

    stage = make(flow(("A", call("a")), ("B", call("b"))), function)
    stage.start()
    begun.wait(120)
    closing = threading.Thread(target=stage.interpreter.close)
    closing.start()
    wait_until(lambda: stage.interpreter._engine.closing)
    gate.set()
    closing.join()
    assert calls == ["a"]
    stage.open()
    assert stage.finish().status == "SUCCEEDED"
    assert calls == ["a", "b"]


def test_a_late_result_cannot_move_an_execution_that_was_taken_over(make: Make) -> None:
    gate = threading.Event()
    calls: list[int] = []

    def function(name: str, payload: Any) -> Any:
        calls.append(len(calls))
        gate.wait(120)
        return "late"

    stage = make(flow(("T", call())), function)
    stage.start()
    wait_until(lambda: len(calls) == 1)
    old = stage.interpreter
    stage.open()
    wait_until(lambda: len(calls) == 2)
    stage.interpreter.stop_execution("x")
    gate.set()
    wait_until(lambda: old.at_rest() and stage.interpreter.at_rest())
    assert stage.interpreter.describe_execution("x").status == "ABORTED"


def test_a_late_result_cannot_end_an_execution_that_another_owner_runs(make: Make) -> None:
    gates = [threading.Event(), threading.Event()]
    results = ["late", "in time"]
    calls: list[int] = []

    def function(name: str, payload: Any) -> Any:
        mine = len(calls)
        calls.append(mine)
        gates[mine].wait(120)
        return results[mine]

    stage = make(flow(("T", call())), function)
    stage.start()
    wait_until(lambda: len(calls) == 1)
    old = stage.interpreter
    stage.open()
    wait_until(lambda: len(calls) == 2)
    gates[0].set()
    wait_until(old.at_rest)
    assert stage.interpreter.describe_execution("x").status == "RUNNING"
    gates[1].set()
    assert '"in time"' in str(stage.finish().output)


def test_a_claim_that_has_moved_on_is_not_handed_out_again(make: Make) -> None:
    gates = {"a": threading.Event(), "b": threading.Event()}
    calls: list[str] = []

    def function(name: str, payload: Any) -> Any:
        calls.append(name)
        if calls.count(name) == 1:
            gates[name].wait(120)

    stage = make(flow(("A", call("a")), ("B", call("b"))), function)
    stage.start()
    wait_until(lambda: calls)
    claim = stage.database.read(
        lambda connection: connection.execute("SELECT execution, path, serial FROM branch").fetchone()
    )
    gates["a"].set()
    wait_until(lambda: len(calls) == 2)
    stage.interpreter._engine.wakes.redeliver(*claim)
    gates["b"].set()
    assert stage.finish().status == "SUCCEEDED"
    assert calls == ["a", "b"]


def test_what_nobody_waits_for_any_more_is_stopped_when_it_is_opened_again(tmp_path: Path) -> None:
    parent = with_arns(flow(("N", nested("one", TimeoutSeconds=5))), {"child": CHILD})
    machines = {"main": parent, "child": flow(("Ask", wait_for_token("ask")))}
    stage = Stage(tmp_path, machines, lambda name, payload: None)
    stage.interpreter.close()
    mortal = MortalDatabase(stage.path, after_commit=True)
    stage.open(mortal)
    stage.start()
    stage.rest()
    mortal.dies_next()
    with contextlib.suppress(Killed):
        stage.clock.advance(5)
    stage.interpreter.close()
    stage.open()
    assert stage.interpreter.describe_execution("x").status == "FAILED"
    wait_until(lambda: stage.interpreter.describe_execution("one").status == "ABORTED")
    stage.close()


def test_a_nested_execution_that_closes_while_another_begins_to_wait_for_it_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens: list[str] = []
    parent = with_arns(flow(("N", nested("shared"))), {"child": CHILD})
    machines = {"main": parent, "child": flow(("Ask", wait_for_token("ask")))}
    stage = Stage(tmp_path, machines, lambda name, payload: tokens.append(payload["token"]))
    names = stage.interpreter._engine.names
    reserve_nested = names.reserve_nested

    def closes_behind(machine: str, name: str, text: str) -> int | None:
        found = reserve_nested(machine, name, text)
        if found is not None:
            stage.interpreter.send_task_success(tokens[0], "{}")
        return found

    monkeypatch.setattr(names, "reserve_nested", closes_behind)
    stage.start("first")
    stage.rest()
    stage.start("second")
    assert [stage.finish("first").status, stage.finish("second").status] == ["SUCCEEDED", "SUCCEEDED"]
    stage.close()


def test_a_machines_time_limit_counts_on_from_the_start_when_it_is_opened_again(make: Make) -> None:
    stage = make({**flow(("Ask", wait_for_token("ask"))), "TimeoutSeconds": 60}, lambda name, payload: None)
    stage.start()
    stage.clock.advance(59)
    assert stage.interpreter.describe_execution("x").status == "RUNNING"
    stage.interpreter.close()
    stage.open()
    stage.clock.advance(1)
    wait_until(lambda: stage.interpreter.describe_execution("x").status == "TIMED_OUT")
