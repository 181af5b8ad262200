"""The tries of a Task state: a Lambda function, one that holds a task token, or a nested execution.

Pages: "Invoke Lambda functions with Step Functions", "Wait for a Callback with Task Token", "Start a new
execution from a running one". Results are shaped as those services' answers are.
"""

import json
import uuid
from typing import TYPE_CHECKING, Any

from parley.embedded.asl import data as json_data
from parley.embedded.asl.definition import TaskState
from parley.embedded.asl.errors import RUNTIME, StateError
from parley.embedded.interpreter.live import Branch, ContextSource, LiveExecution, Status, execution_arn
from parley.embedded.interpreter.types import Execution
from parley.turns.ports import ExecutionStatus

if TYPE_CHECKING:
    from parley.embedded.interpreter.moves import Moves

_HTTP_OK = 200


class Tasks:
    """The part of the moves that concerns Task states."""

    def __init__(self, moves: "Moves") -> None:
        self._moves = moves

    def begin(self, execution: LiveExecution, branch: Branch, state: TaskState) -> None:
        """A try: claim it for a worker, or start the nested execution. Raises StateError."""
        host = self._moves.host
        branch.attempt = next(host.serials)
        arguments = self._arguments(execution, branch, state)
        if state.integration == "execution":
            self._moves.count(execution, branch, 3)  # TaskScheduled, TaskStarted, TaskSubmitted
            text = json_data.state_text(arguments.get("Input", {}), state.name, "payload")
            name = arguments.get("Name", "") or str(uuid.uuid4())
            machine = arguments["StateMachineArn"]
            if not isinstance(name, str) or not isinstance(machine, str):
                raise StateError(RUNTIME, "StateMachineArn and Name must be strings.")
            branch.child = host.start_nested(execution, machine, name, text)
            branch.status = Status.NESTED
            return
        self._moves.count(execution, branch, 2)  # TaskScheduled, TaskStarted
        self._claim(branch, arguments)

    def redeliver(self, execution: LiveExecution, branch: Branch) -> None:
        """The same try for another worker: RetryCount shows it, no retrier counts it."""
        state = branch.state
        if not isinstance(state, TaskState):
            raise AssertionError("only a Task is claimed")
        branch.redelivered += 1
        execution.touch(branch, self._moves.host.serials)
        # Its time starts again: a machine that was down for an hour has not used the function's minute.
        self._claim(branch, self._arguments(execution, branch, state))

    def submitted(self, execution: LiveExecution, branch: Branch) -> None:
        """The function returned: from here on only the token counts."""
        execution.touch(branch, self._moves.host.serials)
        branch.status = Status.TOKEN
        self._moves.count(execution, branch, 1)

    def stop_child(self, execution: LiveExecution, branch: Branch) -> None:
        """Nobody waits for the nested execution any more: it is to be stopped."""
        if branch.child is not None:
            execution.to_stop.append(branch.child)
            branch.child = None

    def _arguments(self, execution: LiveExecution, branch: Branch, state: TaskState) -> dict[str, Any]:
        """Parameters filled in; sets when this try times out."""
        host = self._moves.host
        token = host.token(execution, branch) if state.integration == "lambda_token" else ""
        context = ContextSource(execution, branch, token)
        data = state.effective_input(branch.data, context)
        branch.due = None if state.timeout is None else host.now() + state.timeout(data, context)
        arguments: dict[str, Any] = state.parameters(data, context)
        return arguments

    def _claim(self, branch: Branch, arguments: dict[str, Any]) -> None:
        function = arguments["FunctionName"]
        if not isinstance(function, str):
            raise StateError(RUNTIME, "FunctionName must be a string.")
        payload = json_data.state_text(arguments.get("Payload", {}), branch.state.name, "payload")
        branch.call = (function, payload)
        branch.status = Status.TASK
        branch.lease_until = self._moves.host.now() + self._moves.host.lease_seconds


def lambda_result(payload: Any) -> dict[str, Any]:
    """The answer of lambda:invoke around the function's own."""
    return {
        "ExecutedVersion": "$LATEST",
        "Payload": payload,
        "SdkHttpMetadata": {"HttpStatusCode": _HTTP_OK},
        "StatusCode": _HTTP_OK,
    }


def nested_result(child: Execution) -> dict[str, Any]:
    """The answer of startExecution.sync:2: DescribeExecution's, Input and Output as JSON, dates in ms."""
    result: dict[str, Any] = {
        "ExecutionArn": execution_arn(child.machine, child.name),
        "Input": json_data.decode(child.input),
        "InputDetails": {"Included": True},
        "Name": child.name,
        "StartDate": int(child.start_date * 1000),
        "StateMachineArn": child.machine,
        "Status": child.status.value,
        "StopDate": int((child.stop_date or 0) * 1000),
    }
    if child.status is ExecutionStatus.SUCCEEDED:
        result["Output"] = json_data.decode(child.output or "null")
        result["OutputDetails"] = {"Included": True}
        return result
    if child.error:
        result["Error"] = child.error
    if child.cause:
        result["Cause"] = child.cause
    return result


def nested_cause(child: Execution) -> str:
    """The cause of a Task whose nested execution failed: the execution, as JSON."""
    described = nested_result(child)
    described["Input"] = child.input
    return json.dumps(described, separators=(",", ":"))
