"""Workspace files: which paths there are, how large a file may be, what counts as text.

A path is relative, with ``/`` between its parts: ``docs/plan.md``. It is a name in the project's workspace and never
one of a disk's.
"""

from __future__ import annotations

import unicodedata

LONGEST_PATH = 512
"""Bytes in UTF-8. With the project in front it fits into an S3 key, which has 1,024."""
LARGEST_TEXT = 1024 * 1024
"""Bytes in UTF-8."""
LARGEST_BINARY = 4 * 1024 * 1024
"""Bytes. In base64 they are two thirds of the 6 MB that a Lambda function may take or give."""

_NEVER_IN_A_NAME = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Control characters, lone surrogates, line and paragraph separators: a name is one line of a prompt.

And what cannot be seen: two names that look alike are one, and none reads in another order than it has.
"""
_JOINERS = frozenset("\u200c\u200d")
"""Not to be seen either, but some scripts and emoji are written with them."""
_RESERVED = "\\?"
"""Windows' separator; and what ends a path for API Gateway, encoded or not."""
_TEXT_CONTROLS = frozenset("\t\n\r\f")


def path_fault(path: str) -> str | None:
    """What is wrong with a path, to be read behind its name; None if it may name a file."""
    parts = path.split("/")
    if not path:
        return "must not be empty"
    if "" in parts:
        return "must not begin or end with a slash, or have two in a row"
    if "." in parts or ".." in parts:
        return "must not have . or .. as a part"
    return prefix_fault(path)


def prefix_fault(prefix: str) -> str | None:
    """What is wrong with the beginning of a path, which may be empty and end anywhere."""
    if any(map(_is_out_of_place, prefix)):
        return "must not have control characters, invisible ones, backslashes or question marks"
    if len(prefix.encode()) > LONGEST_PATH:
        return f"must have at most {LONGEST_PATH} bytes in UTF-8"
    return None


def _is_out_of_place(character: str) -> bool:
    if character in _RESERVED:
        return True
    return unicodedata.category(character) in _NEVER_IN_A_NAME and character not in _JOINERS


def as_text(value: bytes) -> str | None:
    """A file's text; None if it is to be treated as binary: not UTF-8, control characters in it, or too large."""
    if len(value) > LARGEST_TEXT:
        return None
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    binary = any(unicodedata.category(character) == "Cc" for character in set(text) - _TEXT_CONTROLS)
    return None if binary else text
