"""Killed at any commit and opened again, every execution goes on and nothing is lost."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parley.embedded.database import Database
from parley.embedded.interpreter import ExecutionAlreadyExists, TaskTimedOut
from tests.statemachine.corpus import call, catch, each, flow, nested, passing, retry, wait_for_token
from tests.statemachine.corpus_player import with_arns
from tests.statemachine.interpreter_stage import (
    BOUND,
    CHILD,
    MAIN,
    Killed,
    MortalDatabase,
    Stage,
    wait_until,
)


class _Oops(Exception):
    """What the flaky function raises."""


_Oops.__name__ = "Oops"

_MACHINES = {
    "main": with_arns(
        flow(
            ("First", call("first", ResultPath="$.first", ResultSelector={"v.$": "$.Payload"})),
            ("Ask", wait_for_token("ask", ResultPath="$.answer", TimeoutSeconds=3600)),
            ("Flaky", call("flaky", ResultPath=None, Retry=[retry("Oops", MaxAttempts=3)])),
            (
                "Fan",
                each(
                    (
                        "Kind",
                        {
                            "Type": "Choice",
                            "Choices": [{"Variable": "$.nest", "BooleanEquals": True, "Next": "Nest"}],
                            "Default": "Plain",
                        },
                    ),
                    (
                        "Nest",
                        nested(
                            "$.name",
                            OutputPath="$.Output",
                            Catch=[catch("States.ALL", to="Given up")],
                            End=True,
                        ),
                    ),
                    ("Plain", call("plain", End=True)),
                    ("Given up", passing()),
                    ItemsPath="$.items",
                    ResultPath="$.fan",
                    MaxConcurrency=2,
                ),
            ),
            ("Pause", {"Type": "Wait", "Seconds": 30}),
            ("Last", call("last", ResultPath=None)),
        ),
        {"child": CHILD},
    ),
    "child": flow(("Inner", call("inner"))),
}
_INPUT = {"items": [{"nest": True, "name": "nested-one"}, {"nest": False, "n": 1}, {"nest": False, "n": 2}]}
_OUTPUT = {
    **_INPUT,
    "first": {"v": "one"},
    "answer": {"ok": True},
    "fan": ["inner", {"nest": False, "n": 1}, {"nest": False, "n": 2}],
}


class _World:
    """The functions, and what outlives a process: the token that "ask" wrote down."""

    def __init__(self) -> None:
        self.token: str | None = None
        self.calls: list[str] = []
        self._flaky = 0

    def __call__(self, function: str, payload: Any) -> Any:
        self.calls.append(function)
        match function:
            case "first":
                return "one"
            case "inner":
                return "inner"
            case "ask":
                self.token = payload["token"]
                return None
            case "flaky":
                self._flaky += 1
                if self._flaky == 1:
                    raise _Oops
                return None
            case _:
                return payload


@pytest.fixture
def world() -> _World:
    return _World()


@pytest.fixture
def stage(tmp_path: Path, world: _World) -> Iterator[Stage]:
    made = Stage(tmp_path, _MACHINES, world, workers=4)
    yield made
    made.close()


def _drive(stage: Stage, world: _World) -> None:
    """Bring the execution as far as this process lives."""
    interpreter = stage.interpreter
    with contextlib.suppress(Killed):
        with contextlib.suppress(ExecutionAlreadyExists):
            interpreter.start_execution(MAIN, "x", json.dumps(_INPUT))
        until = time.monotonic() + BOUND
        while interpreter.describe_execution("x").status == "RUNNING" and time.monotonic() < until:
            if world.token:
                with contextlib.suppress(TaskTimedOut):
                    interpreter.send_task_success(world.token, '{"ok":true}')
            if interpreter.at_rest():
                stage.clock.advance(30)


def _survive(stage: Stage, world: _World, at: int, after_commit: bool) -> bool:
    """Die at the `at`-th write, open again, finish. Whether the process died at all."""
    mortal = MortalDatabase(stage.path, at=at, after_commit=after_commit)
    with contextlib.suppress(Killed):
        stage.open(mortal)
        _drive(stage, world)
    wait_until(stage.interpreter.at_rest)
    died = mortal.dead.is_set()
    stage.interpreter.close()  # its threads: it can save nothing any more
    stage.open(Database(stage.path))
    _drive(stage, world)
    execution = stage.interpreter.describe_execution("x")
    assert (execution.status, json.loads(execution.output or "null")) == ("SUCCEEDED", _OUTPUT)
    assert set(world.calls) == {"first", "ask", "flaky", "plain", "inner", "last"}
    return died


@pytest.mark.parametrize("after_commit", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", range(1, 24))
def test_a_process_that_dies_at_any_commit_loses_nothing(
    stage: Stage, world: _World, at: int, after_commit: bool
) -> None:
    _survive(stage, world, at, after_commit)


def test_the_deaths_above_cover_every_commit(stage: Stage, world: _World) -> None:
    assert not _survive(stage, world, 24, False)


def test_a_function_runs_only_after_the_commit_that_claims_it(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []

    def function(name: str, payload: Any) -> Any:
        row = played.database.read(
            lambda connection: connection.execute("SELECT state, status FROM branch").fetchone()
        )
        seen.append(row)

    played = Stage(tmp_path, {"main": flow(("A", call()), ("B", call()))}, function)
    played.start()
    played.finish()
    played.close()
    assert seen == [("A", "task"), ("B", "task")]


def test_executions_go_on_with_the_definition_they_were_started_with(tmp_path: Path) -> None:
    gate = threading.Event()

    def function(name: str, payload: Any) -> Any:
        if name == "old":
            gate.wait(120)
        return name

    old = Stage(tmp_path, {"main": flow(("A", call("old")), ("Gone", call("older")))}, function)
    old.start("x")
    new = Stage(tmp_path, {"main": flow(("Other", call("new")))}, function)
    gate.set()
    new.start("y")
    assert [new.finish("x").output, new.finish("y").output] == ['"older"', '"new"']
    old.close()
    new.close()
