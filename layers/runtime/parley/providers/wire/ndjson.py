"""Replies that are one JSON object per line, or one JSON text in all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from parley.domain.errors import StreamCut
from parley.providers.wire.failures import read_json


def decode_objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The objects, one per line that is not blank. Raises StreamCut for a line that is none."""
    for line in lines:
        if line.strip():
            yield object_in(line)


def object_in(text: str) -> dict[str, Any]:
    """The text as a JSON object. Raises StreamCut if it is none."""
    value = read_json(text)
    if not isinstance(value, dict):
        raise StreamCut("the provider sent something that is not a JSON object")
    return value
