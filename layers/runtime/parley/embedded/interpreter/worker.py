"""Running one claimed Task: the function call, and its result or error in the shape that Lambda gives it.

Page: "AWS Lambda function errors in Python": errorType is the exception's class name.
"""

import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from parley.embedded.asl import data as json_data
from parley.embedded.interpreter.live import Claim

MARSHAL_ERROR = "Runtime.MarshalError"
_MOST_FRAMES = 20
_LONGEST_MESSAGE = 8_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a function call came to: a value and its JSON text, or an error and its cause (JSON)."""

    value: Any = None
    text: str = ""
    error: str | None = None
    cause: str = ""


def run_claim(invoke: Callable[[str, Any], Any], claim: Claim) -> Outcome:
    """Call the function. What is no Exception (a worker that dies) passes through.

    Payload and result go through JSON: neither side sees the other's objects.
    """
    try:
        value = invoke(claim.function, json_data.decode(claim.payload))
    except Exception as error:  # noqa: BLE001 - whatever a function raises is its error
        return Outcome(error=type(error).__name__, cause=_cause(type(error).__name__, error))
    try:
        text = json_data.encode(value)
        return Outcome(json_data.decode(text), text)
    except (TypeError, ValueError, RecursionError) as error:
        return Outcome(error=MARSHAL_ERROR, cause=_cause(MARSHAL_ERROR, error))


def _cause(name: str, error: Exception) -> str:
    return json.dumps(
        {
            "errorMessage": str(error)[:_LONGEST_MESSAGE],
            "errorType": name,
            "requestId": "",
            "stackTrace": traceback.format_tb(error.__traceback__)[-_MOST_FRAMES:],
        }
    )
