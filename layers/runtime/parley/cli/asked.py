"""What a person decides on, in full: the question and every argument, with each character that does not show named."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from parley.cli.terminal import named

_LONG = 2000
"""A longer value is cut in its middle, so that both of its ends are seen."""
_PLAIN_NAME = re.compile(r"[\w.-]+")


def value_text(value: object) -> str:
    """A value as JSON in one line."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _LONG:
        return named(text)
    half = _LONG // 2
    left_out = f" […{len(text) - 2 * half} of {len(text)} characters left out…] "
    return named(text[:half]) + left_out + named(text[-half:])


def name_text(name: str) -> str:
    """An argument's name; one that could be taken for something else in quotes."""
    return name if _PLAIN_NAME.fullmatch(name) else value_text(name)


def listed(arguments: Mapping[str, Any]) -> str:
    """All arguments in one line."""
    return ", ".join(f"{name_text(name)}={value_text(value)}" for name, value in arguments.items())


def action_lines(
    name: str, arguments: Mapping[str, Any], proposed: Mapping[str, Any] | None = None
) -> list[str]:
    """The call, an argument a line. ``proposed``: what these arguments are to replace, where they differ."""
    lines = [f"→ {named(name)}" if arguments else f"→ {named(name)}()"]
    for key, value in arguments.items():
        line = f"    {name_text(key)}: {value_text(value)}"
        if proposed is not None and key not in proposed:
            line += " (not proposed)"
        elif proposed is not None and proposed[key] != value:
            line += f" (proposed: {value_text(proposed[key])})"
        lines.append(line)
    return lines


def question_lines(question: str) -> list[str]:
    """The whole question; its further lines stand inside, where no line of the list begins."""
    first, *further = named(question).split("\n")
    return [first, *(f"    {line}" for line in further)]
