"""Reading JSON that somebody else wrote: only what can be stored, sent on and read back is accepted.

Python's own reader takes more than JSON allows (NaN), and values that every later step would stumble over:
numbers beyond a double, halves of surrogate pairs, nesting that our own parser refuses to read back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

DEEPEST = 64
"""Levels of nesting. What is stored nests it a few levels deeper, and pydantic reads at most 200."""
_SHOWN_NAME = 60


def read_json(text: str) -> Any:
    """The value. Raises json.JSONDecodeError (a ValueError) for what is not JSON or cannot be kept."""
    return _read(text, None)


def read_request(text: str) -> Any:
    """As ``read_json``, of what a person or a client sends: an object with a name twice is refused as well.

    JSON leaves open which of the two counts: who checks it on its way may read another decision than we do.
    """
    return _read(text, _once)


def _read(text: str, pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None) -> Any:
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=pairs)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise _refused(text, f"it is nested more than {DEEPEST} levels deep") from None
    except ValueError as error:
        raise _refused(text, str(error)) from None
    if text.count("[") + text.count("{") > DEEPEST and _is_deeper(value, DEEPEST):
        raise _refused(text, f"it is nested more than {DEEPEST} levels deep")
    if "\\u" in text or not text.isascii():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _refused(text, "it holds half of a surrogate pair") from None
    return value


def _refused(text: str, why: str) -> json.JSONDecodeError:
    return json.JSONDecodeError(why, text, 0)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, given in pairs:
        if name in value:
            shown = name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…"
            raise ValueError(f"{json.dumps(shown, ensure_ascii=not shown.isprintable())} is in it twice")
        value[name] = given
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("it holds a number that is too large")
    return number


def _is_deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        level = [part for each in level if isinstance(each, dict | list) for part in _parts(each)]
        if not level:
            return False
    return True


def _parts(value: dict[str, Any] | list[Any]) -> Any:
    return value.values() if isinstance(value, dict) else value
