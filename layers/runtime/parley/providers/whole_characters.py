"""Deltas whose text any store can keep.

A server may cut an emoji into two JSON escapes (``\\ud83d``, ``\\ude00``) and send them apart. Half of such a pair is
no character: UTF-8 has no room for it. Halves that belong together are joined, others become U+FFFD.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any, cast

from parley.turns.model_ports import (
    Delta,
    Finish,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallEnd,
    ToolCallStart,
)

_FIRST_HALVES = ("\ud800", "\udbff")
_TEXT = -1
"""Stands for the reply's text where calls have their index."""


def whole_characters(deltas: Iterator[Delta]) -> Iterator[Delta]:
    """The deltas, a first half at the end of one kept back for the next of the same text or call."""
    halves: dict[int, str] = {}
    # A provider's stream is a generator: closed, it ends the request.
    with closing(cast("Any", deltas)):
        for delta in deltas:
            if isinstance(delta, Finish | ToolCallStart | ToolCallEnd):
                yield from _left_over(halves)
                yield _cleaned(delta)
                continue
            if not halves and delta.text.isascii():  # the usual case
                yield delta
                continue
            place = _TEXT if isinstance(delta, TextDelta) else delta.index
            text = halves.pop(place, "") + delta.text
            if text and _FIRST_HALVES[0] <= text[-1] <= _FIRST_HALVES[1]:
                text, halves[place] = text[:-1], text[-1]
            if text or not delta.text:
                yield replace(delta, text=clean_text(text))


def _left_over(halves: dict[int, str]) -> Iterator[Delta]:
    for place, half in halves.items():
        text = clean_text(half)
        yield TextDelta(text) if place == _TEXT else ToolArgumentsDelta(place, text)
    halves.clear()


def _cleaned(delta: Finish | ToolCallStart | ToolCallEnd) -> Delta:
    if isinstance(delta, Finish):
        return replace(delta, provider_data=_clean(delta.provider_data))
    if isinstance(delta, ToolCallEnd):
        return replace(delta, arguments=clean_text(delta.arguments))
    return replace(
        delta,
        name=clean_text(delta.name),
        provider_call_id=_clean(delta.provider_call_id),
        metadata=_clean(delta.metadata),
    )


def clean_text(text: str) -> str:
    """The text with halves joined, and U+FFFD for what has no other half."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _clean(value: Any) -> Any:
    match value:
        case str():
            return clean_text(value)
        case dict():
            return {_clean(key): _clean(part) for key, part in value.items()}
        case list():
            return [_clean(part) for part in value]
        case _:
            return value
