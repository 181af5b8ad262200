"""Both orchestrators over one machine, for the tests that both have to pass.

Time: the embedded one runs on a movable clock that `Rig.wait_until` moves while it waits; moto's runs in real
time, with its sleeps between tries shortened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from parley.aws import clients
from parley.aws.orchestrator import StepFunctionsOrchestrator
from parley.clock import MovableClock
from parley.embedded.database import Database
from parley.embedded.interpreter import Interpreter
from parley.embedded.orchestrator import EmbeddedOrchestrator
from parley.turns.ports import Orchestrator, StateVisit
from tests.support.moto_aws import Functions, MockedAws, mocked_aws
from tests.support.waiting import wait_until

Backend = Literal["embedded", "aws"]
BACKENDS: tuple[Backend, ...] = ("embedded", "aws")

_EMBEDDED_MACHINE = "arn:aws:states:local:000000000000:stateMachine:parley-test-conversation"


@dataclass
class Rig:
    """An orchestrator, and what its functions were asked; ``aws`` or ``interpreter`` is the backend."""

    orchestrator: Orchestrator
    clock: MovableClock | None = None
    interpreter: Interpreter | None = None
    aws: MockedAws | None = None
    calls: list[tuple[str, Any]] = field(default_factory=list)

    def wait_until(self, condition: Callable[[], Any]) -> Any:
        """The first true value of ``condition``; the movable clock runs at some twenty times real speed."""

        def poll() -> Any:
            value = condition()
            if not value and self.clock is not None:
                self.clock.advance(0.1)
            return value

        return wait_until(poll)

    def ended(self, name: str) -> str:
        """The status that the execution ended with."""

        def status() -> str | None:
            found = self.orchestrator.status(name)
            return None if found is None or found == "RUNNING" else str(found)

        return str(self.wait_until(status))

    def calls_of(self, function: str) -> list[Any]:
        """The payloads that a function got so far."""
        return [payload for name, payload in list(self.calls) if name == function]

    def story(self, name: str) -> list[tuple[Any, ...]]:
        """The history without its times, in an order that does not depend on which Map branch ran first."""

        def plain(visit: StateVisit) -> tuple[Any, ...]:
            return (
                visit.iteration,
                visit.name,
                visit.type,
                visit.outcome,
                visit.error,
                visit.retries,
                visit.waiting,
            )

        visits = self.orchestrator.history(name)
        return [plain(visit) for visit in sorted(visits, key=lambda each: each.iteration)]


@contextmanager
def rig(
    backend: Backend,
    definition: Mapping[str, Any],
    functions: Functions,
    *,
    folder: Path,
    function_names: tuple[str, ...] = (),
) -> Iterator[Rig]:
    """``definition`` may name its functions as ``${Name}``; ``function_names`` are those names."""
    calls: list[tuple[str, Any]] = []

    def invoke(name: str, payload: Any) -> Any:
        calls.append((name, payload))
        return functions(name, payload)

    if backend == "aws":
        with mocked_aws(invoke, pace=0.02) as account:
            substitutions = {name: account.function_arn(name) for name in function_names}
            arn = account.create_machine(definition, substitutions)
            client = clients.stepfunctions(account.session)
            yield Rig(StepFunctionsOrchestrator(client, arn), aws=account, calls=calls)
        return
    text = json.dumps(definition)
    for name in function_names:
        text = text.replace(f"${{{name}}}", name)
    clock = MovableClock()
    database = Database(folder / "parley.db")
    machines = {_EMBEDDED_MACHINE: json.loads(text)}
    interpreter = Interpreter(database, machines, invoke, clock, workers=8)
    interpreter.open()
    try:
        orchestrator = EmbeddedOrchestrator(interpreter, _EMBEDDED_MACHINE)
        yield Rig(orchestrator, clock=clock, interpreter=interpreter, calls=calls)
    finally:
        interpreter.close()
        database.close()
