"""Executions of the conversation state machine in Step Functions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from parley.aws.faults import calling, code_of
from parley.aws.history import visits_of
from parley.turns.ports import ExecutionStatus, Started, StateVisit

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

_NOBODY_WAITS: Final = frozenset({"InvalidToken", "TaskDoesNotExist", "TaskTimedOut"})
_LONGEST_CAUSE: Final = 32_768
"""Characters: https://docs.aws.amazon.com/step-functions/latest/apireference/API_StopExecution.html"""


class StepFunctionsOrchestrator:
    """`parley.turns.ports.Orchestrator` for one state machine, named by its ARN."""

    def __init__(self, client: SFNClient, state_machine_arn: str) -> None:
        self._client = client
        self._machine = state_machine_arn

    def start(self, name: str, payload: dict[str, Any]) -> Started:
        """One StartExecution. Started twice with the same payload while it runs, it is STARTED both times."""
        try:
            with calling("Step Functions"):
                self._client.start_execution(
                    stateMachineArn=self._machine,
                    name=name,
                    input=json.dumps(payload, ensure_ascii=False, separators=(",", ":"), sort_keys=True),
                )
        except ClientError as error:
            if code_of(error) != "ExecutionAlreadyExists":
                raise
            # DescribeExecution may lag: what it does not know yet has only just been started.
            status = self.status(name) or ExecutionStatus.RUNNING
            return Started.RUNNING if status is ExecutionStatus.RUNNING else Started.CLOSED
        return Started.STARTED

    def wake(self, token: str) -> bool:
        """One SendTaskSuccess."""
        try:
            with calling("Step Functions"):
                self._client.send_task_success(taskToken=token, output="{}")
        except ClientError as error:
            if code_of(error) in _NOBODY_WAITS:
                return False
            raise
        return True

    def status(self, name: str) -> ExecutionStatus | None:
        """One DescribeExecution."""
        try:
            with calling("Step Functions"):
                answer = self._client.describe_execution(executionArn=self._arn(name))
        except ClientError as error:
            if _is_unknown(error):
                return None
            raise
        status = answer["status"]
        # A redrive that waits for its turn will run.
        return ExecutionStatus.RUNNING if status == "PENDING_REDRIVE" else ExecutionStatus(status)

    def history(self, name: str) -> list[StateVisit]:
        """One GetExecutionHistory per thousand events, without execution data."""
        events: list[Any] = []
        request: dict[str, Any] = {
            "executionArn": self._arn(name),
            "maxResults": 1000,
            "includeExecutionData": False,
        }
        try:
            while True:
                with calling("Step Functions"):
                    page = self._client.get_execution_history(**request)
                events.extend(page["events"])
                if not page.get("nextToken"):
                    return visits_of(events)
                request["nextToken"] = page["nextToken"]
        except ClientError as error:
            if _is_unknown(error):
                return []
            raise

    def stop(self, name: str, cause: str) -> None:
        """One StopExecution. Step Functions itself stops the executions that a ``.sync`` task started."""
        try:
            with calling("Step Functions"):
                self._client.stop_execution(executionArn=self._arn(name), cause=cause[:_LONGEST_CAUSE])
        except ClientError as error:
            if not _is_unknown(error):
                raise

    def _arn(self, name: str) -> str:
        return f"{self._machine.replace(':stateMachine:', ':execution:')}:{name}"


def _is_unknown(error: ClientError) -> bool:
    return code_of(error) == "ExecutionDoesNotExist"
