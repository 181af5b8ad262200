"""The corpus on the embedded interpreter, with a clock that the cases move."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

import pytest

from parley.clock import MovableClock
from parley.embedded import interpreter as embedded
from parley.embedded.database import Database
from parley.embedded.interpreter import Interpreter
from tests.statemachine.corpus import Advance, Case, Fail, Signal, Stop, Succeed
from tests.statemachine.corpus_machines import CASES
from tests.statemachine.corpus_player import (
    BOUND,
    ScriptedFunctions,
    check_end,
    check_functions,
    check_states,
    with_arns,
)

_NAME = "the-case"


class _Stage:
    """One case being played."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case = case
        self.clock = MovableClock()
        self.database = Database(folder / "corpus.sqlite")
        self.functions = ScriptedFunctions(case, self._answer)
        arns = {name: f"arn:aws:states:local:000000000000:stateMachine:{name}" for name in case.machines}
        self.main = arns["main"]
        machines = {arns[name]: with_arns(machine, arns) for name, machine in case.machines.items()}
        self.interpreter = Interpreter(self.database, machines, self.functions, self.clock)

    def _answer(self, token: str, output: str) -> None:
        self.interpreter.send_task_success(token, output)

    def play(self) -> None:
        self.interpreter.open()
        try:
            self.interpreter.start_execution(self.main, _NAME, json.dumps(self.case.input))
            for signal in self.case.signals:
                self._signal(signal)
            self._come_to_an_end()
            self._check()
        finally:
            self.functions.end()
            self.interpreter.close()
            self.database.close()

    def _signal(self, signal: Signal) -> None:
        if signal.after is None:
            self._wait_until(self.interpreter.at_rest)
        else:
            payload = self.functions.payload_of(*signal.after)
        match signal:
            case Succeed(output=output):
                token, text = payload["token"], json.dumps(output)
                self._refused(signal.refused, lambda: self.interpreter.send_task_success(token, text))
            case Fail(error=error, cause=cause):
                token = payload["token"]
                self._refused(signal.refused, lambda: self.interpreter.send_task_failure(token, error, cause))
            case Advance(seconds=seconds):
                self.clock.advance(seconds)
            case Stop(error=error, cause=cause):
                self._wait_until(self.interpreter.at_rest)
                self.interpreter.stop_execution(_NAME, error, cause)
            case _:
                assert_never(signal)

    def _refused(self, error: str | None, act: Callable[[], None]) -> None:
        if error is None:
            act()
            return
        self._wait_until(self.interpreter.at_rest)
        with pytest.raises(getattr(embedded, error)):
            act()

    def _come_to_an_end(self) -> None:
        """Let short delays pass; a case that moves the clock itself says how far."""
        until = time.monotonic() + BOUND
        moves_itself = any(isinstance(signal, Advance) for signal in self.case.signals)
        while self.interpreter.describe_execution(_NAME).status == "RUNNING":
            assert time.monotonic() < until, self.interpreter.get_execution_history(_NAME)
            if not moves_itself and self.interpreter.at_rest():
                self.clock.advance(1)

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + BOUND
        while not condition():
            assert time.monotonic() < until
            time.sleep(0)

    def _check(self) -> None:
        execution = self.interpreter.describe_execution(_NAME)
        check_end(self.case, execution.status, execution.output, execution.error, execution.cause)
        history = self.interpreter.get_execution_history(_NAME)
        check_states(self.case, [visit.name for visit in history])
        check_functions(self.case, self.functions)
        for state, retries in self.case.retries.items():
            assert retries in [visit.retries for visit in history if visit.name == state]
        assert all(visit.exited_at is not None for visit in history)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_embedded_interpreter_follows_the_rule(case: Case, tmp_path: Path) -> None:
    _Stage(case, tmp_path).play()


def test_every_case_has_a_name_of_its_own() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))
