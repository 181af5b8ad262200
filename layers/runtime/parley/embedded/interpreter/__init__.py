"""The embedded Step Functions. `Interpreter` is what others use; the rest of the package is its own."""

from parley.embedded.interpreter.service import Interpreter
from parley.embedded.interpreter.types import (
    Execution,
    ExecutionAlreadyExists,
    ExecutionDoesNotExist,
    InvalidExecutionInput,
    InvalidName,
    InvalidOutput,
    InvalidToken,
    OrchestrationError,
    StartedExecution,
    StateMachineDoesNotExist,
    TaskTimedOut,
    ValidationException,
)

__all__ = [
    "Execution",
    "ExecutionAlreadyExists",
    "ExecutionDoesNotExist",
    "Interpreter",
    "InvalidExecutionInput",
    "InvalidName",
    "InvalidOutput",
    "InvalidToken",
    "OrchestrationError",
    "StartedExecution",
    "StateMachineDoesNotExist",
    "TaskTimedOut",
    "ValidationException",
]
