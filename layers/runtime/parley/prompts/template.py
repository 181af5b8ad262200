"""Templates over a call's arguments: ``{name}``, ``{name.part}``, ``{name.count}``, ``{name|if missing}``.

``count`` is that of a list's entries, or of a text's characters. Owns the form. Paths go through JSON objects only,
never through Python attributes; a value is put in as it is and not read again; a placeholder that names nothing
stays visible.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)(?:\|([^{}]*))?\}")
_MISSING = object()


def fill_template(template: str, arguments: Mapping[str, Any], *, longest: int | None = None) -> str:
    """The template with its placeholders replaced; a value is cut after ``longest`` characters."""

    def value(match: re.Match[str]) -> str:
        path, words = match.group(1), match.group(2)
        found = _look_up(arguments, path.split("."))
        if found is _MISSING or found is None or found == "":
            if words is not None:
                return words
            return match.group(0) if found is _MISSING or found is None else ""
        text = as_words(found)
        return text if longest is None or len(text) <= longest else text[:longest].rstrip() + "…"

    return _PLACEHOLDER.sub(value, template)


def names_in(template: str) -> list[str]:
    """The arguments that its placeholders name."""
    return [match.group(1).partition(".")[0] for match in _PLACEHOLDER.finditer(template)]


def as_words(value: Any) -> str:
    """A JSON value for a person to read: lists with commas, objects as JSON."""
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(as_words(item) for item in value)
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)


def _look_up(arguments: Mapping[str, Any], path: list[str]) -> Any:
    found: Any = arguments
    for name in path:
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif name == "count" and isinstance(found, list | tuple | Mapping | str):
            found = len(found)
        else:
            return _MISSING
    return found
