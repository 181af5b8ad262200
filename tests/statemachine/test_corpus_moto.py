"""The corpus on moto's Step Functions interpreter, repaired: a second reading of every rule.

moto is not AWS. Where it differs from the rule that a case names, the case is listed here with what it does;
listed cases have to fail, so that the list stays true. Time is real, but for sleeps between tries and in Wait
states, which are shortened.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, assert_never

import pytest
from botocore.exceptions import ClientError

from parley.aws import clients
from parley.aws.orchestrator import StepFunctionsOrchestrator
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
from tests.support.moto_aws import MockedAws, mocked_aws
from tests.support.waiting import wait_until

_NAME = "the-case"
_PACE = 0.05
_QUIET = 0.15
"""Real seconds without a new event after which an execution counts as waiting."""

DIFFERENCES = {
    "no rule and no default": "moto fails with States.Runtime",
    "a variable that is not there": "moto takes it for a rule that does not match",
    "a path in Parameters that finds nothing": "moto lets States.ALL catch it",
    r"intrinsic States.Format('it\'s {}', $.a)": "moto does not read an escaped quote",
    "intrinsic States.Array('a', 1, $.b, null)": "moto does not read null",
    "the machine's own TimeoutSeconds": "moto leaves the timed-out execution's task waiting",
}


_BY_REAL_TIME = "the machine's own TimeoutSeconds"
"""On a busy machine its task may end after all."""


class _Stage:
    """One case being played."""

    def __init__(self, case: Case, aws: MockedAws, client: Any) -> None:
        self.case = case
        self.functions = ScriptedFunctions(case, self._answer)
        aws.functions = self.functions
        self.client = client
        arns = {name: aws.machine_arn(name) for name in case.machines}
        for name, machine in case.machines.items():
            aws.create_machine(with_arns(machine, arns), name=name)
        self.arn = arns["main"].replace(":stateMachine:", ":execution:") + f":{_NAME}"
        self.machine = arns["main"]

    def _answer(self, token: str, output: str) -> None:
        self.client.send_task_success(taskToken=token, output=output)

    def play(self) -> None:
        text = json.dumps(self.case.input)
        self.client.start_execution(stateMachineArn=self.machine, name=_NAME, input=text)
        for signal in self.case.signals:
            self._signal(signal)
        wait_until(lambda: self._described()["status"] != "RUNNING", timeout=BOUND)
        self._check()

    def _signal(self, signal: Signal) -> None:
        payload: Any = None
        if signal.after is not None:
            payload = self.functions.payload_of(*signal.after)
        match signal:
            case Succeed(output=output, refused=refused):
                text = json.dumps(output)
                self._refused(
                    refused, lambda: self.client.send_task_success(taskToken=payload["token"], output=text)
                )
            case Fail(error=error, cause=cause, refused=refused):
                self._refused(
                    refused,
                    lambda: self.client.send_task_failure(
                        taskToken=payload["token"], error=error, cause=cause
                    ),
                )
            case Advance():
                pass  # it passes by itself
            case Stop(error=error, cause=cause):
                self._rest()
                self.client.stop_execution(executionArn=self.arn, error=error, cause=cause)
            case _:
                assert_never(signal)

    def _refused(self, error: str | None, act: Callable[[], Any]) -> None:
        if error is None:
            act()
            return
        self._rest()
        with pytest.raises(ClientError) as refusal:
            act()
        assert refusal.value.response["Error"]["Code"] == error

    def _rest(self) -> None:
        seen, since, until = -1, time.monotonic(), time.monotonic() + BOUND
        while time.monotonic() - since < _QUIET:
            assert time.monotonic() < until
            time.sleep(0.01)
            events = len(self.client.get_execution_history(executionArn=self.arn)["events"])
            if events != seen:
                seen, since = events, time.monotonic()

    def _described(self) -> Any:
        return self.client.describe_execution(executionArn=self.arn)

    def _check(self) -> None:
        end = self._described()
        check_end(self.case, end["status"], end.get("output"), end.get("error"), end.get("cause"))
        history = StepFunctionsOrchestrator(self.client, self.machine).history(_NAME)
        check_states(self.case, [visit.name for visit in history])
        check_functions(self.case, self.functions)
        for state, retries in self.case.retries.items():
            assert retries in [visit.retries for visit in history if visit.name == state]
        assert all(visit.exited_at is not None for visit in history)


def _parameters() -> list[Any]:
    return [
        pytest.param(
            case,
            id=case.name,
            marks=[pytest.mark.xfail(reason=DIFFERENCES[case.name], strict=case.name != _BY_REAL_TIME)]
            if case.name in DIFFERENCES
            else [],
        )
        for case in CASES
        if not case.embedded_only
    ]


@pytest.fixture(scope="module")
def account() -> Iterator[MockedAws]:
    with mocked_aws(pace=_PACE) as aws:
        yield aws


@pytest.fixture(scope="module")
def client(account: MockedAws) -> Any:
    return clients.stepfunctions(account.session)


@pytest.mark.parametrize("case", _parameters())
def test_moto_follows_the_rule(case: Case, account: MockedAws, client: Any) -> None:
    stage = _Stage(case, account, client)
    try:
        stage.play()
    finally:
        stage.functions.end()
        account.forget(machines=True)


def test_every_listed_difference_is_a_case() -> None:
    assert set(DIFFERENCES) <= {case.name for case in CASES if not case.embedded_only}
