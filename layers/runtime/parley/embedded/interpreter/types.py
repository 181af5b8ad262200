"""What callers of the embedded interpreter see: its errors, named as Step Functions names them, its records.

Page: the errors of StartExecution, SendTaskSuccess, SendTaskFailure and StopExecution in the API reference.
"""

import re
from dataclasses import dataclass

from parley.embedded.asl import data as json_data
from parley.turns.ports import ExecutionStatus

LONGEST_ERROR = 256
LONGEST_CAUSE = 32_768

# White space, control characters and  < > { } [ ] ? * " # % \ ^ | ~ ` $ & , ; : /  are refused.
_BAD_IN_NAME = re.compile(r"[\s\x00-\x1f\x7f-\x9f<>{}\[\]?*\"#%\\^|~`$&,;:/\ud800-\udfff\ufffe\uffff]")
_LONGEST_NAME = 80


class OrchestrationError(Exception):
    """A request that the interpreter refuses; nothing was changed. The class's name is AWS's own."""


class InvalidName(OrchestrationError):
    """An execution's name has 1 to 80 characters, none of them from the forbidden set."""


class InvalidExecutionInput(OrchestrationError):
    """The input is no JSON, or more than a state may carry."""


class ExecutionAlreadyExists(OrchestrationError):
    """The name was used: by a closed execution, or by a running one with another input."""


class ExecutionDoesNotExist(OrchestrationError):
    """No execution has that name."""


class StateMachineDoesNotExist(OrchestrationError):
    """No machine has that id."""


class InvalidToken(OrchestrationError):
    """The token was never given out."""


class TaskTimedOut(OrchestrationError):
    """The token was used, or its try is over."""


class InvalidOutput(OrchestrationError):
    """The output is no JSON, or more than a state may carry."""


class ValidationException(OrchestrationError):
    """An error name or a cause is too long."""


@dataclass(frozen=True, slots=True)
class StartedExecution:
    """Answer to a start. `started` is False if it was running already. start_date: epoch seconds."""

    name: str
    start_date: float
    started: bool


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution. Texts are JSON; dates epoch seconds.

    transitions: states entered, retries included, as Step Functions bills them; what it nests has its own.
    events: history events, as Step Functions counts them against its quota.
    """

    name: str
    machine: str
    status: ExecutionStatus
    input: str
    start_date: float
    stop_date: float | None = None
    output: str | None = None
    error: str | None = None
    cause: str | None = None
    transitions: int = 0
    events: int = 0


def check_name(name: str) -> None:
    """Raise InvalidName unless Step Functions would take `name` for an execution."""
    if not 1 <= len(name) <= _LONGEST_NAME or _BAD_IN_NAME.search(name):
        raise InvalidName(f"{name!r} is no name for an execution")


def check_input(text: str) -> None:
    """Raise InvalidExecutionInput unless `text` is JSON within the limit."""
    if reason := _unfit(text):
        raise InvalidExecutionInput(reason)


def check_output(text: str) -> None:
    """Raise InvalidOutput unless `text` is JSON within the limit."""
    if reason := _unfit(text):
        raise InvalidOutput(reason)


def check_error(error: str, cause: str) -> None:
    """Raise ValidationException if either is longer than Step Functions takes."""
    if len(error) > LONGEST_ERROR or len(cause) > LONGEST_CAUSE:
        raise ValidationException(f"an error has up to {LONGEST_ERROR} characters, a cause {LONGEST_CAUSE}")


def _unfit(text: str) -> str:
    try:
        if json_data.size(text) > json_data.PAYLOAD_LIMIT:
            return f"more than {json_data.PAYLOAD_LIMIT} bytes"
        json_data.decode(text)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {error}"
    return ""
