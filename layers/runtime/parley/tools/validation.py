"""Bad arguments, in words that a model can act on: ``Validation failed: limit must be between 1 and 100``.

What was given is never repeated: it may be long, or a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from parley.domain.faults import MOST_FAULTS, fault_words, joined
from parley.tools.schema import schema_at


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with the value at ``path``. ``kind`` and ``context`` are Pydantic's error type and its ``ctx``.

    ``words`` stand for a kind that has none of its own.
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
    more = f"; and {len(told) - MOST_FAULTS} more" if len(told) > MOST_FAULTS else ""
    return f"Validation failed: {'; '.join(told[:MOST_FAULTS])}{more}"


def _told(fault: Fault, schema: dict[str, Any]) -> str:
    path, kind = fault.path, fault.kind
    name = ".".join(str(step) for step in path) or "the arguments"
    words = fault_words(kind, fault.context, fault.words)
    if kind in {"greater_than_equal", "less_than_equal"}:
        limits = schema_at(schema, path)
        if "minimum" in limits and "maximum" in limits:
            words = f"must be between {limits['minimum']} and {limits['maximum']}"
    elif kind == "string_pattern_mismatch":
        described = schema_at(schema, path).get("description")
        words += f" ({described})" if described else ""
    elif kind == "extra_forbidden":
        words = "is not an argument of this function"
    elif kind in {"value_error", "assertion_error"}:
        return f"{name}: {words}" if path else words
    return joined(name, words)
