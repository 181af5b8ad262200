"""Failures in plain words: what a person and a model are told of an error that Step Functions caught."""

from __future__ import annotations

import json
from typing import NamedTuple

from parley.domain import errors
from parley.turns.task import ErrorRef

_OURS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
_SHOWN = {errors.TurnGivenUp, errors.SubagentRefused}


class Failure(NamedTuple):
    """``type`` is the error's class name; ``retryable`` says whether sending the message again may help."""

    type: str
    message: str
    retryable: bool


def words_for(error: ErrorRef | None) -> Failure:
    """Our own errors speak for themselves; of any other only its kind is told, never its inside."""
    if error is None or not error.Error:
        return Failure("Unknown", "Something went wrong. Please try again.", retryable=True)
    kind = _OURS.get(error.Error)
    message = _message(error.Cause)
    if kind is not None and issubclass(kind, errors.ProviderError):
        return Failure(error.Error, message or "The model could not be reached.", kind.retryable)
    if kind is not None and issubclass(kind, errors.Refusal):
        return Failure(error.Error, message or "It was not found.", retryable=False)
    if kind in _SHOWN:
        return Failure(error.Error, message, retryable=True)
    if error.Error == "States.Timeout":
        return Failure(error.Error, "It took too long and was stopped.", retryable=True)
    return Failure(error.Error, f"An internal error stopped it ({error.Error}).", retryable=True)


def _message(cause: str) -> str:
    """The exception's message out of a Lambda's error, which Step Functions gives as JSON text."""
    try:
        parsed = json.loads(cause)
    except ValueError:
        return ""
    return str(parsed.get("errorMessage") or "") if isinstance(parsed, dict) else ""
