"""Executions whose disk refuses a write."""

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from parley.domain.errors import StorageError
from parley.embedded.database import Database
from tests.statemachine.corpus import call, each, flow, nested, wait_for_token
from tests.statemachine.corpus_player import with_arns
from tests.statemachine.interpreter_stage import CHILD, Stage

T = TypeVar("T")


class _FullAt(Database):
    """A database whose `at`-th write finds the disk full."""

    def __init__(self, path: Path, at: int) -> None:
        super().__init__(path)
        self._at = at
        self._count = 0
        self._counting = threading.Lock()

    def write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        with self._counting:
            self._count += 1
            full = self._count == self._at
        if full:
            raise StorageError("the disk is full")
        return super().write(operation)


@pytest.mark.parametrize("at", range(4, 16))
def test_an_execution_outlives_a_write_that_the_disk_refused(tmp_path: Path, at: int) -> None:
    tokens: list[str] = []

    def function(name: str, payload: Any) -> Any:
        if name == "ask":
            tokens.append(payload["token"])
        return payload

    machines = {
        "main": with_arns(
            flow(
                ("A", call("work")),
                ("Ask", wait_for_token("ask", ResultPath=None)),
                ("Pause", {"Type": "Wait", "Seconds": 10}),
                ("M", each(("N", nested("$.n", OutputPath="$.Output")))),
            ),
            {"child": CHILD},
        ),
        "child": flow(("Inner", call("work"))),
    }
    stage = Stage(tmp_path, machines, function)
    stage.interpreter.close()
    stage.open(_FullAt(stage.path, at))
    stage.start(data=[{"n": "one"}, {"n": "two"}])
    for _ in range(1000):
        if stage.interpreter.describe_execution("x").status != "RUNNING":
            break
        stage.rest()
        for token in tokens[-1:]:
            try:
                stage.interpreter.send_task_success(token, "{}")
                tokens.clear()
            except StorageError:
                continue
        stage.rest()
        stage.clock.advance(60)
    stage.rest()
    execution = stage.interpreter.describe_execution("x")
    stage.close()
    assert (execution.status, execution.output) == ("SUCCEEDED", '[{"n":"one"},{"n":"two"}]')


def test_a_start_that_the_disk_refuses_has_not_happened(tmp_path: Path) -> None:
    stage = Stage(tmp_path, {"main": flow(("A", call()))}, lambda name, payload: payload)
    stage.interpreter.close()
    stage.open(_FullAt(stage.path, 3))
    with pytest.raises(StorageError):
        stage.start()
    stage.start()
    assert stage.finish().status == "SUCCEEDED"
    stage.close()


def test_a_result_that_the_disk_refuses_is_saved_later_without_a_second_call(tmp_path: Path) -> None:
    calls: list[str] = []
    stage = Stage(tmp_path, {"main": flow(("A", call()))}, lambda name, payload: calls.append(name))
    stage.interpreter.close()
    stage.open(_FullAt(stage.path, 4))
    stage.start()
    stage.rest()
    assert stage.interpreter.describe_execution("x").status == "RUNNING"
    stage.clock.advance(1)
    stage.rest()
    assert stage.interpreter.describe_execution("x").status == "SUCCEEDED"
    assert calls == ["f"]
    stage.close()
