"""JSON text of state data, and how much of it a state may carry."""

import json
from typing import Any

from parley.embedded.asl.errors import DATA_LIMIT, RUNTIME, StateError

# Bytes of UTF-8, for any state's or task's input or result ("Step Functions service quotas").
PAYLOAD_LIMIT = 262_144

# Without its own check for cycles, which costs as much again: a cycle is a RecursionError.
_encode = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
).encode


def encode(value: Any) -> str:
    """Compact JSON. Raises TypeError, ValueError (NaN, a lone surrogate, a cycle) or RecursionError."""
    text = _encode(value)
    if not text.isascii():
        text.encode()  # a lone surrogate has no UTF-8 and could not be stored
    return text


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def decode(text: str) -> Any:
    """Data from JSON text. Raises ValueError, also for NaN and Infinity; RecursionError if too deep."""
    return _decode(text)


def size(text: str) -> int:
    """Bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def check_size(text: str, state: str, what: str) -> str:
    """`text` itself, or StateError States.DataLimitExceeded if it is more than a state may carry."""
    if size(text) > PAYLOAD_LIMIT:
        reason = f"The {what} of the state {state!r} has {size(text)} bytes, more than {PAYLOAD_LIMIT}."
        raise StateError(DATA_LIMIT, reason)
    return text


def state_text(value: Any, state: str, what: str) -> str:
    """The JSON text of state data within the limit. Raises StateError."""
    try:
        text = encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StateError(RUNTIME, f"The {what} of the state {state!r} is no JSON: {error}") from error
    return check_size(text, state, what)


def is_number(value: Any) -> bool:
    """Whether `value` is a JSON number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    """Whether `value` is a JSON number written as an integer."""
    return isinstance(value, int) and not isinstance(value, bool)
