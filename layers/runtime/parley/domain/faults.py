"""What is wrong with a value that somebody sent, in plain words: which field, what is accepted, what came.

Pydantic finds the faults; its own words are for programmers. What was given is never repeated: it may be long, or a
secret. Only its kind is told, its length, and a number that is too large or too small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

MOST_FAULTS = 5
"""Faults that are told at once."""
_SHOWN_NAME = 60
_Context = Mapping[str, Any]
_VERBS = ("must ", "does ", "needs ", "has ", "is ")
_OF_A_KEY = "[key]"
"""Pydantic's last step to a fault of a name, not of what stands under it."""

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
    "extra_forbidden": "is not known here",
    "none_required": "must be null",
    "string_pattern_mismatch": "does not have the right form",
}

_LIMITS: dict[str, Callable[[_Context], str]] = {
    "greater_than_equal": lambda context: f"must be at least {_number(context['ge'])}",
    "greater_than": lambda context: f"must be more than {_number(context['gt'])}",
    "less_than_equal": lambda context: f"must be at most {_number(context['le'])}",
    "less_than": lambda context: f"must be less than {_number(context['lt'])}",
    "multiple_of": lambda context: f"must be a multiple of {_number(context['multiple_of'])}",
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
    "union_tag_not_found": lambda context: f"needs a {_plain(str(context['discriminator']))}",
    "union_tag_invalid": lambda context: (
        f"its {_plain(str(context['discriminator']))} must be one of {_plain(str(context['expected_tags']))}"
    ),
}


def fault_words(kind: str, context: _Context, message: str) -> str:
    """What goes on a field's name: ``must be text``. ``kind``, ``context``, ``message``: Pydantic's error.

    Words of a validator of ours come back as they are; they may begin otherwise, see ``joined``.
    """
    if kind in _LIMITS:
        return _LIMITS[kind](context)
    if kind in _WORDS:
        return _WORDS[kind]
    if kind in {"value_error", "assertion_error"}:
        return str(context.get("error") or message)
    return re.sub(r"^Input should ", "must ", message)


def joined(name: str, words: str) -> str:
    """Name and words as one clause."""
    return f"{name} {words}" if words.startswith(_VERBS) else f"{name}: {words}"


def faults_in(errors: Iterable[Mapping[str, Any]], body: object, forms: Mapping[str, str]) -> str:
    """``message: must be text, not a number; …`` of what Pydantic found in a body, at most five faults.

    ``body``: None if it is not at hand. ``forms``: patterns to words for what they accept.
    """
    told: dict[str, str] = {}
    for error in errors:
        place = ".".join(_place(error["loc"], body))
        # Of several alternatives that were tried, the first speaks: it is the one that is mostly meant.
        told.setdefault(place, _sentence(error, forms))
    lines = [f"{place}: {words}" if place else words for place, words in told.items()]
    more = [f"and {len(lines) - MOST_FAULTS} more"] if len(lines) > MOST_FAULTS else []
    return "; ".join([*lines[:MOST_FAULTS], *more])


def refuse_unknown(given: Mapping[str, Any], accepted: Iterable[str]) -> None:
    """For a validator: raises ValueError for names that are not accepted, with those that are."""
    accepted = list(accepted)
    if unknown := sorted(set(given) - set(accepted)):
        named = ", ".join(name[:_SHOWN_NAME] for name in unknown[:MOST_FAULTS])
        raise ValueError(f"unknown: {named}; accepted: {', '.join(accepted)}")


def _place(steps: Iterable[int | str], body: Any) -> list[str]:
    """The way to a fault as the sender wrote it: without Pydantic's names for alternatives, if there is a body."""
    *way, last = [step for step in steps if step != _OF_A_KEY] or [""]
    place: list[str] = []
    for step in way:
        if body is not None and not _leads_on(body, step):
            continue
        body = None if body is None else body[step]
        place.append(str(step))
    return [*place, str(last)] if last != "" else place


def _leads_on(body: object, step: int | str) -> bool:
    if isinstance(body, Mapping):
        return step in body
    return isinstance(body, list) and isinstance(step, int) and step < len(body)


def _sentence(error: Mapping[str, Any], forms: Mapping[str, str]) -> str:
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind == "string_pattern_mismatch":
        return f"must be {forms.get(context['pattern'], 'of the form ' + str(context['pattern']))}"
    words = fault_words(kind, context, str(error["msg"]))
    return words + _but_was(kind, error.get("input"))


def _but_was(kind: str, given: object) -> str:
    """What came instead, as far as it may be told."""
    if kind.endswith("_type"):
        return f", not {_kind_of(given)}"
    if kind in {"string_too_long", "too_long"} and isinstance(given, str | list | dict):
        return f", not {len(given):,}"
    if kind in {"greater_than_equal", "greater_than", "less_than_equal", "less_than", "int_from_float"}:
        text = str(given)
        return f", not {text}" if isinstance(given, int | float) and len(text) <= 20 else ""
    return ""


def _kind_of(given: object) -> str:
    match given:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"


def _number(limit: object) -> str:
    return str(int(limit)) if isinstance(limit, float) and limit.is_integer() else str(limit)


def _many(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _plain(quoted: str) -> str:
    return quoted.replace("'", "")


def _one_of(expected: str) -> str:
    names = _plain(expected)
    return f"one of {names}" if "," in names or " or " in names else names
