"""Small machines on moto, and a function that keeps their tokens: what the tests of its repairs run."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from tests.support.moto_aws import MockedAws
from tests.support.waiting import wait_until

INVOKE = "arn:aws:states:::lambda:invoke"


def task(**fields: Any) -> dict[str, Any]:
    parameters = {"FunctionName": MockedAws.function_arn("worker"), "Payload": {"input.$": "$"}}
    return {"Type": "Task", "Resource": INVOKE, "Parameters": parameters, **fields}


ASK = task(
    Resource=f"{INVOKE}.waitForTaskToken",
    Parameters={
        "FunctionName": MockedAws.function_arn("worker"),
        "Payload": {"token.$": "$$.Task.Token"},
    },
    TimeoutSeconds=60,
    Retry=[{"ErrorEquals": ["ValueError"], "IntervalSeconds": 1, "MaxAttempts": 2}],
    End=True,
)
NEST = {
    "Type": "Task",
    "Resource": "arn:aws:states:::states:startExecution.sync:2",
    "Parameters": {
        "StateMachineArn": MockedAws.machine_arn("inner"),
        "Name.$": "States.Format('{}-nested', $$.Execution.Name)",
        "Input.$": "$",
    },
    "End": True,
}


def one(state: dict[str, Any]) -> dict[str, Any]:
    return {"StartAt": "Only", "States": {"Only": state}}


class Worker:
    """Keeps the tokens that it gets; fails as often as it is told."""

    def __init__(self, failures: int = 0) -> None:
        self.tokens: list[str] = []
        self.failures = failures

    def __call__(self, name: str, payload: Any) -> Any:
        if "token" in payload:
            self.tokens.append(payload["token"])
        if self.failures:
            self.failures -= 1
            raise ValueError("again")
        return {}


class Runs:
    """One machine, its executions by name."""

    def __init__(
        self, aws: MockedAws, state: dict[str, Any], *, nested: dict[str, Any] | None = None
    ) -> None:
        if nested is not None:
            aws.create_machine(one(nested), name="inner")
        self.arn = aws.create_machine(one(state))
        self.client = aws.client("stepfunctions")

    def start(self, name: str = "a") -> None:
        self.client.start_execution(stateMachineArn=self.arn, name=name, input="{}")

    def execution(self, name: str = "a") -> str:
        arn = self.arn if not name.endswith("-nested") else MockedAws.machine_arn("inner")
        return f"{arn.replace(':stateMachine:', ':execution:')}:{name}"

    def status(self, name: str = "a") -> str:
        return str(self.client.describe_execution(executionArn=self.execution(name))["status"])

    def ended(self, name: str = "a") -> str:
        wait_until(lambda: self.status(name) != "RUNNING")
        return self.status(name)

    def stop(self, name: str = "a") -> None:
        self.client.stop_execution(executionArn=self.execution(name), error="Stopped", cause="by hand")

    def answer(self, token: str) -> bool:
        try:
            self.client.send_task_success(taskToken=token, output="{}")
        except ClientError:
            return False
        return True
