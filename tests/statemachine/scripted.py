"""Runs the shipped state machine with handlers that only say where to go, in either interpreter.

A script names, per state, what its handler answers the first time, the second, and so on (the last answer
repeats): fields of its result, the name of an error, or WAKE, which answers the task token there and then as
our handlers do. ``sub:State`` is for nested executions, ``State:2`` for the call of that index.
"""

import threading
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parley.aws import clients
from parley.aws.orchestrator import StepFunctionsOrchestrator
from parley.clock import MovableClock
from parley.embedded.database import Database
from parley.embedded.interpreter import Interpreter
from parley.embedded.orchestrator import EmbeddedOrchestrator
from parley.turns.ports import ExecutionStatus, Orchestrator, StateVisit
from tests.support.machine import definition, lambda_tasks, substitutions
from tests.support.moto_aws import MockedAws
from tests.support.waiting import wait_until

WAKE = "wake"
MACHINE_ID = "arn:aws:states:local:000000000000:stateMachine:parley-conversation"
ROOT = "root"
"""As an execution's name in a script: the root execution's own."""

PICKED = {
    name: [path.removeprefix("$.Payload.") for path in state.get("ResultSelector", {}).values()]
    for name, state in lambda_tasks(definition()).items()
}
"""The fields that a state picks out of its handler's result: what a script leaves out is null."""

Answer = Mapping[str, Any] | str
Script = Mapping[str, Sequence[Answer]]


class Handlers:
    """Stands for the Lambda functions. ``calls``: the states that were answered, with their retry count."""

    def __init__(self, script: Script) -> None:
        self.root = f"{uuid.uuid4()}-1-1"
        self.calls: list[tuple[str, int]] = []
        self.orchestrator: Orchestrator
        self._script = script
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()

    def invoke(self, function: str, payload: dict[str, Any]) -> dict[str, Any]:
        """One invocation."""
        state = payload["state"]
        key = self._key(state, payload["input"])
        with self._lock:
            self.calls.append((key, payload["retry_count"]))
            answers = self._script.get(key, [{}])
            answer = answers[min(self._times[key], len(answers) - 1)]
            self._times[key] += 1
        if answer == WAKE:
            assert self.orchestrator.wake(payload["token"])
            return {}
        if isinstance(answer, str):
            raise type(answer, (Exception,), {})("scripted")
        if state == "OpenSubthread":
            return self._nested(payload, answer)
        return {**dict.fromkeys(PICKED[state]), **answer}

    def _key(self, state: str, given: dict[str, Any]) -> str:
        keys = [f"{state}:{given['call']['index']}"] if "call" in given else []
        keys += [f"sub:{state}"] if given["run"]["subthread_id"] else []
        return next((key for key in keys if key in self._script), state)

    def _nested(self, payload: dict[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
        """A name for each call at each depth, unless the script names the execution."""
        run = payload["input"]["run"]
        depth, index = run["depth"] + 1, payload["input"]["call"]["index"]
        name = self.root if answer.get("name") == ROOT else f"{self.root}-{depth}-{index}"
        return {"name": name, "run": {**run, "depth": depth, "subthread_id": f"sub-{depth}-{index}"}}


def run_input(inactivity_seconds: int = 3600) -> dict[str, Any]:
    """The input of a root run."""
    run = {"thread_id": "root", "generation": 1, "attempt": 1, "subthread_id": None, "depth": 0}
    return {"run": {**run, "inactivity_seconds": inactivity_seconds}}


class Embedded:
    """The interpreter of the embedded backend; while nothing happens, its clock moves on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._idle, self._seen = 0, 0

    @contextmanager
    def orchestrator(self, handlers: Handlers) -> Iterator[Orchestrator]:
        """The port, for one test."""
        self._clock, self._handlers = MovableClock(), handlers
        database = Database(self._folder / "parley.db")
        machines = {MACHINE_ID: definition()}
        interpreter = Interpreter(database, machines, handlers.invoke, self._clock, workers=8)
        interpreter.open()
        try:
            yield EmbeddedOrchestrator(interpreter, MACHINE_ID)
        finally:
            interpreter.close()
            database.close()

    def wait_for_rest(self, orchestrator: Orchestrator) -> None:
        """Until the root execution has ended."""
        wait_until(lambda: self._ended(orchestrator), what="the execution has ended")

    def _ended(self, orchestrator: Orchestrator) -> bool:
        """If there was no call for a few looks, seconds pass: what just runs must not time out."""
        calls = len(self._handlers.calls)
        self._idle = self._idle + 1 if calls == self._seen else 0
        self._seen = calls
        if self._idle >= 6:
            self._idle = 0
            self._clock.advance(5)
        return orchestrator.status(self._handlers.root) is not ExecutionStatus.RUNNING


class Moto:
    """Step Functions as moto plays it, in real time. One machine for all tests: parsing it is slow."""

    def __init__(self, aws: MockedAws) -> None:
        self._aws = aws
        arns = {name: aws.function_arn(name) for name in substitutions(definition())}
        self._machine = aws.create_machine(definition(), arns)

    @contextmanager
    def orchestrator(self, handlers: Handlers) -> Iterator[Orchestrator]:
        """The port, for one test."""
        self._aws.functions = handlers.invoke
        yield StepFunctionsOrchestrator(clients.stepfunctions(self._aws.session), self._machine)

    def wait_for_rest(self, orchestrator: Orchestrator) -> None:
        """Until every execution has ended."""
        self._aws.wait_for_rest()


def run(backend: Embedded | Moto, script: Script, inactivity_seconds: int) -> "Outcome":
    """Start one root execution and see what becomes of it."""
    handlers = Handlers(script)
    with backend.orchestrator(handlers) as orchestrator:
        handlers.orchestrator = orchestrator
        orchestrator.start(handlers.root, run_input(inactivity_seconds))
        backend.wait_for_rest(orchestrator)
        return Outcome(orchestrator, handlers)


class Outcome:
    """What became of the root execution and of those that it nested."""

    def __init__(self, orchestrator: Orchestrator, handlers: Handlers) -> None:
        root = handlers.root
        self.status = orchestrator.status(root)
        self.visits: list[StateVisit] = orchestrator.history(root)
        self.calls = handlers.calls
        self.nested = {
            f"{depth}-{index}": status
            for depth in (1, 2)
            for index in range(3)
            if (status := orchestrator.status(f"{root}-{depth}-{index}"))
        }

    @property
    def outer(self) -> list[str]:
        """The states entered outside the Map, in order."""
        return [visit.name for visit in self.visits if not visit.iteration]

    @property
    def inner(self) -> dict[int, list[str]]:
        """The states entered per call."""
        calls: dict[int, list[str]] = {}
        for visit in self.visits:
            if visit.iteration:
                calls.setdefault(visit.iteration[0], []).append(visit.name)
        return calls
