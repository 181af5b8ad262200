"""The matrix on AWS, mocked: a dying Lambda is an error to Step Functions, which tries it again by the machine's Retry.

Each case has a table and a state machine of its own in one account, so that ids are those of the case without deaths.
Time is real there but for repair's clock; what machines sleep between tries is shortened.
"""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from on_schedule.repair import handler as repair
from on_task.dispatch import handler
from parley import assets, wiring
from parley.aws import clients
from parley.aws.orchestrator import StepFunctionsOrchestrator
from parley.aws.store import DynamoStore
from parley.turns import agents, projects
from parley.turns.runtime import Runtime
from tests.faults.judge import differences, tell
from tests.faults.matrix import SIDES, Case, Clean
from tests.faults.person import PROJECT, USER, Lost, Person
from tests.faults.process import SETTINGS
from tests.faults.scenarios import AGENTS, FUNCTIONS, SCENARIOS
from tests.support.backends import Account, set_up
from tests.support.faulty import Died
from tests.support.mortal import Death, Fate, Point
from tests.support.mortal_world import mortal_runtime
from tests.support.moto_aws import executions, mocked_aws

AWS_SCENARIOS = ("plain", "approved")
PATIENCE = 60.0
MINUTE_IS = 10.0
"""Real seconds without a change after which a minute passes."""


def aws_cases(scenario: str, points: Iterable[Point]) -> Iterator[tuple[Case, Point]]:
    """Every single death of a request or a task; repair passes when real time says so."""
    for point in points:
        if point.place.label != "Repair":
            for side in SIDES:
                yield Case(scenario, "lambda", (Death(point.place, side),)), point


class AwsPerson(Person):
    """A person whose conversation runs in the account, on a table and a machine made for it."""

    def __init__(self, account: Account, runtime: Runtime, fate: Fate) -> None:
        super().__init__(fate)
        self._clock = account.clock
        self._runtime = replace(mortal_runtime(runtime, fate, self.world, FUNCTIONS), settings=SETTINGS)
        account.aws.functions = self._invoke
        wiring.use(self._runtime)
        projects.ensure_project(self._runtime, projects.Project(project_id=PROJECT, name="Demo"))
        projects.ensure_member(self._runtime, PROJECT, USER, projects.Role.OWNER)
        for agent in AGENTS:
            agents.put_agent(self._runtime, PROJECT, agent)
        self.connect(self._runtime)

    def _invoke(self, function: str, payload: Any) -> Any:
        with self.fate.worker(payload["state"]):
            return handler(payload, None)

    @property
    def runtime(self) -> Runtime:
        return self._runtime

    def recover(self) -> None:
        """Another Lambda is there for the next request."""

    def until(self, condition: Callable[[], Any], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            next_minute = time.monotonic() + MINUTE_IS
            while time.monotonic() < next_minute:
                if condition():
                    return
                with self.fate.changed:
                    self.fate.changed.wait(0.05)
            self.time_passes(60.0)
        raise Lost(f"not within {PATIENCE} s: {what}\n{self.aggregate(self.thread)!r}\n{self.executions()}")

    def time_passes(self, seconds: float) -> None:
        self._clock.advance(seconds)
        try:
            with self.fate.worker("Repair"):
                repair({}, None)
        except Died:
            return

    def waits_out(self) -> None:
        """A day cannot pass here: the machine's own time is real."""

    def executions(self) -> list[tuple[str, str]]:
        mine = [each for each in executions() if each.state_machine_arn == self._machine]
        return [(each.name, str(each.status)) for each in mine]

    @property
    def _machine(self) -> str:
        return str(self._runtime.orchestrator._machine)  # type: ignore[attr-defined]

    def close(self) -> None:
        """Stop what still runs."""
        self.fate.playing = False
        for name in self.running():
            self._runtime.orchestrator.stop(name, "the case is over")
        wiring.use(None)


class OnAws:
    """An account in which cases are played."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._numbers = itertools.count(1)
        session = account.aws.session
        self._tables, self._machines = clients.dynamodb(session), clients.stepfunctions(session)
        self._clean: dict[str, Clean] = {}

    def _person(self, fate: Fate) -> AwsPerson:
        aws, name = self._account.aws, f"faults-{next(self._numbers)}"
        arns = {f"{each}Arn": aws.function_arn(each) for each in assets.TASK_FUNCTIONS}
        machine = aws.create_machine(assets.definition(arns), name=name)
        runtime = replace(
            self._account.runtime,
            store=DynamoStore(self._tables, aws.create_table(name), self._account.clock),
            orchestrator=StepFunctionsOrchestrator(self._machines, machine),
        )
        return AwsPerson(self._account, runtime, fate)

    def _play(self, scenario: str, fate: Fate) -> Any:
        person = self._person(fate)
        try:
            fate.playing = True
            SCENARIOS[scenario].play(person)
            return tell(person, SCENARIOS[scenario])
        finally:
            person.close()

    def clean(self, scenario: str) -> Clean:
        """Without deaths."""
        if scenario not in self._clean:
            fate = Fate()
            self._clean[scenario] = Clean(self._play(scenario, fate), fate.points)
        return self._clean[scenario]

    def survive(self, case: Case) -> None:
        """Play a case. Raises AssertionError for whatever is lost.

        Requests and tasks run at once here: a call of one may not come up because of the other. Then nobody dies.
        """
        expected = self.clean(case.scenario).story
        story = self._play(case.scenario, Fate(list(case.deaths)))
        if wrong := differences(expected, story):
            raise Lost("\n".join(wrong))

    def wrong(self, case: Case) -> str:
        """What was lost, in words; empty if nothing."""
        try:
            self.survive(case)
        except Exception:  # noqa: BLE001 - whatever a case ends with, the others are played
            return traceback.format_exc(limit=-3)
        return ""


@contextmanager
def on_aws() -> Iterator[OnAws]:
    """A mocked account, for as long as cases are played in it."""
    with mocked_aws(pace=0.02) as aws:
        yield OnAws(set_up(aws))
