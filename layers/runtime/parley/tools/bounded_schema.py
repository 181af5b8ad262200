"""The words of JSON schema, so that no schema keeps a worker busy: it comes from an owner, or from somebody's server.

Two things can. A pattern that backtracks, for which the language's own engine holds up every other thread: patterns run
on Pydantic's engine, which has no backtracking, as those of function classes do. And a schema that multiplies: a
reference to two references to the next two. So each check has a number of steps, and patterns pay by their size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic_core import SchemaError, SchemaValidator

MOST_STEPS = 50_000
"""A second or two."""
LARGEST_PATTERN = 10_000
"""States, roughly: characters, times what they are to be repeated."""
_STATES_A_STEP = 1_000
_PAIRS_A_STEP = 100
_COUNT = re.compile(r"(\)?)\{(\d+)(?:,(\d*))?\}")
_Word = Callable[..., Iterator[ValidationError] | None]
_left: ContextVar[list[int]] = ContextVar("steps that are left")


class TooMuch(Exception):
    """The check has no steps left."""


def begin() -> None:
    """Give the check that follows its steps."""
    _left.set([MOST_STEPS])


@lru_cache(maxsize=256)
def pattern_fault(pattern: str) -> str | None:
    """Why a pattern is not checked here, or None if it is."""
    if _size(pattern) > LARGEST_PATTERN:
        return "it repeats too much; its counts multiply to more than can be checked in time"
    try:
        _compiled(pattern)
    except SchemaError as error:
        return str(error).strip().rpartition("\n")[2].strip().removeprefix("error: ")
    return None


@cache
def bounded(kind: type[Validator], patterns_name: bool) -> type[Validator]:
    """A dialect with bounds. ``patterns_name``: whether the schema has ``patternProperties`` anywhere.

    ``unevaluatedProperties`` would match these by itself, and is left to whoever answers the call.
    """
    known: Mapping[str, _Word] = kind.VALIDATORS
    words = {**known, "pattern": _pattern, "patternProperties": _pattern_properties}
    words["additionalProperties"] = _additional(known["additionalProperties"])
    counted = {word: _counted(word, check) for word, check in words.items()}
    if patterns_name and "unevaluatedProperties" in counted:
        counted["unevaluatedProperties"] = _nothing
    made: type[Validator] = extend(kind, counted)  # type: ignore[no-untyped-call]
    return made


def matches(pattern: str, text: str, *, otherwise: bool) -> bool:
    """Whether the text has the pattern in it; ``otherwise`` for one that is not checked here. Raises TooMuch."""
    if pattern_fault(pattern) is not None:
        return otherwise
    _spend(_size(pattern) * len(text) // _STATES_A_STEP)
    return _compiled(pattern).isinstance_python(text)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> SchemaValidator:
    return SchemaValidator({"type": "str", "pattern": pattern, "regex_engine": "rust-regex"})


def _size(pattern: str) -> int:
    """About how many states the pattern has: counts of characters add up, counts of groups multiply."""
    states, times = len(pattern), 1
    for group, least, most in _COUNT.findall(pattern):
        count = max(1, int((most or least)[:6]))
        if group:
            times *= count
        else:
            states += count
    return states * times


def _spend(steps: int) -> None:
    left = _left.get()
    left[0] -= steps
    if left[0] < 0:
        raise TooMuch


def _counted(word: str, check: _Word) -> _Word:
    def counted(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[ValidationError] | None:
        pairs = len(instance) ** 2 if word == "uniqueItems" and isinstance(instance, list) else 0
        _spend(1 + pairs // _PAIRS_A_STEP)
        return check(validator, wanted, instance, schema)

    return counted


def _nothing(validator: Any, wanted: Any, instance: Any, schema: Any) -> None:
    return None


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches(pattern, instance, otherwise=True):
        yield ValidationError("does not match")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Any
) -> Iterator[ValidationError]:
    for pattern, part in patterns.items() if isinstance(instance, dict) else ():
        for name, value in instance.items():
            if matches(pattern, name, otherwise=False):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def names_beyond(schema: Mapping[str, Any], instance: Mapping[str, Any]) -> list[str]:
    """The names that neither ``properties`` nor ``patternProperties`` of the schema know."""
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    return [
        name
        for name in instance
        if name not in known and not any(matches(pattern, name, otherwise=True) for pattern in patterns)
    ]


def _additional(original: _Word) -> _Word:
    def additional(
        validator: Any, wanted: Any, instance: Any, schema: Mapping[str, Any]
    ) -> Iterator[ValidationError]:
        if "patternProperties" not in schema or not isinstance(instance, dict):
            yield from original(validator, wanted, instance, schema) or ()
            return
        beyond = names_beyond(schema, instance)
        if wanted is False and beyond:
            yield ValidationError("is not known")
        elif isinstance(wanted, dict):
            for name in beyond:
                yield from validator.descend(instance[name], wanted, path=name)

    return additional
