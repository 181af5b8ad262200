"""Bad arguments, in words that a model can act on: ``Validation failed: limit must be between 1 and 100``.

What was given is never repeated: it may be long, or a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from parley.tools.schema import schema_at

MOST_ERRORS = 5
_VERBS = ("must ", "does ", "needs ", "has ")
_Context = Mapping[str, Any]

_WORDS: dict[str, str] = {
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "decimal_type": "must be a number",
    "decimal_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "string_unicode": "must be valid text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "set_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "missing": "is missing",
    "extra_forbidden": "is not an argument of this function",
    "none_required": "must be null",
}

_LIMITS: dict[str, Callable[[_Context], str]] = {
    "greater_than_equal": lambda context: f"must be at least {context['ge']}",
    "greater_than": lambda context: f"must be more than {context['gt']}",
    "less_than_equal": lambda context: f"must be at most {context['le']}",
    "less_than": lambda context: f"must be less than {context['lt']}",
    "multiple_of": lambda context: f"must be a multiple of {context['multiple_of']}",
    "too_short": lambda context: f"must have at least {_many(context['min_length'], 'entry', 'entries')}",
    "too_long": lambda context: f"must have at most {_many(context['max_length'], 'entry', 'entries')}",
    "string_too_short": lambda context: f"must have at least {_many(context['min_length'], 'character')}",
    "string_too_long": lambda context: f"must have at most {_many(context['max_length'], 'character')}",
    "decimal_max_places": lambda context: (
        f"must have at most {_many(context['decimal_places'], 'decimal place')}"
    ),
    "decimal_max_digits": lambda context: f"must have at most {_many(context['max_digits'], 'digit')}",
    "literal_error": lambda context: f"must be {_one_of(str(context['expected']))}",
    "enum": lambda context: f"must be {_one_of(str(context['expected']))}",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with the value at ``path``. ``kind`` and ``context`` are Pydantic's error type and its ``ctx``.

    ``words`` stand for a kind that has none of its own here.
    """

    path: tuple[int | str, ...]
    kind: str
    context: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""


def validation_failed(error: ValidationError, arguments: type[BaseModel]) -> str:
    """``Validation failed: …`` with each field's fault, at most five."""
    faults = [
        Fault(tuple(details["loc"]), details["type"], details.get("ctx") or {}, details["msg"])
        for details in error.errors(include_url=False)
    ]
    return in_words(faults, arguments.model_json_schema())


def in_words(faults: Iterable[Fault], schema: dict[str, Any]) -> str:
    """``Validation failed: …`` with each of the faults, at most five. ``schema`` is that of all arguments."""
    told = list(dict.fromkeys(_told(fault, schema) for fault in faults))
    more = f"; and {len(told) - MOST_ERRORS} more" if len(told) > MOST_ERRORS else ""
    return f"Validation failed: {'; '.join(told[:MOST_ERRORS])}{more}"


def _told(fault: Fault, schema: dict[str, Any]) -> str:
    path, kind, context = fault.path, fault.kind, fault.context
    name = ".".join(str(step) for step in path) or "the arguments"
    if kind in {"greater_than_equal", "less_than_equal"}:
        limits = schema_at(schema, path)
        if "minimum" in limits and "maximum" in limits:
            return f"{name} must be between {limits['minimum']} and {limits['maximum']}"
    if kind in _LIMITS:
        return f"{name} {_LIMITS[kind](context)}"
    if kind in _WORDS:
        return f"{name} {_WORDS[kind]}"
    if kind in {"value_error", "assertion_error"}:
        words = str(context.get("error") or fault.words)
        return f"{name}: {words}" if path else words
    if kind == "string_pattern_mismatch":
        described = schema_at(schema, path).get("description")
        return f"{name} does not have the right form" + (f" ({described})" if described else "")
    words = re.sub(r"^Input should ", "must ", fault.words)
    return f"{name} {words}" if words.startswith(_VERBS) else f"{name}: {words}"


def _many(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _one_of(expected: str) -> str:
    names = expected.replace("'", "")
    return f"one of {names}" if "," in names or " or " in names else names
