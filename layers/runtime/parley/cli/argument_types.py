"""What the arguments of commands may be: text to values, or words that say what is wrong. Loads nothing heavy."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parley.domain.json_text import read_request


def number(low: int, high: int) -> Callable[[str], int]:
    """A whole number of this range."""

    def number(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{value} is not between {low} and {high}")
        return value

    return number


def text(what: str) -> Callable[[str], str]:
    """Text that is not blank."""

    def text(value: str) -> str:
        if not value.strip():
            raise argparse.ArgumentTypeError(f"{what} cannot be empty")
        return encodable(value)

    return text


def folder(path: str) -> Path:
    """A folder. An empty path would be the current one, and fill it."""
    return Path(text("folder")(path))


def encodable(text: str) -> str:
    """Bytes that Python could not read come as lone surrogates: UTF-8 under a locale without, or no text."""
    try:
        return os.fsencode(text).decode() if re.search("[\ud800-\udfff]", text) else text
    except UnicodeError:
        raise argparse.ArgumentTypeError("this is not UTF-8") from None


def token(text: str) -> str:
    """A token. What is wrong is said without it: errors end up in logs."""
    if not re.fullmatch(r"[!-~]+", text):
        raise argparse.ArgumentTypeError("a token is one word of ASCII characters; this is none")
    return text


def json_object(text: str) -> dict[str, Any]:
    """Told to argparse if it is none."""
    try:
        return object_in(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def object_in(text: str) -> dict[str, Any]:
    """A JSON object. Raises ValueError, in words for who typed it."""
    try:
        value = read_request(text)
    except (ValueError, RecursionError) as error:
        where = re.sub(r" \(char \d+\)$", "", str(error))
        raise ValueError(f"that is no JSON ({where})") from None
    if not isinstance(value, dict):
        raise ValueError('that is no JSON object, such as {"label": "Sale"}')
    return value


def add_command(
    commands: Any, name: str, target: str, help: str, description: str
) -> argparse.ArgumentParser:
    """A command; `target` is `module:function` below `parley.cli`."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=help, description=description)
    parser.set_defaults(target=target)
    return parser
