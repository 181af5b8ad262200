"""How a document's text falls into passages: small enough to be quoted, whole enough to be understood alone.

A passage never crosses a heading that has text below it, and ends at a paragraph, a line, a sentence or a word,
whichever comes first in that order. Long sections overlap a little, so that what stands at a cut is whole in one of the
two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST_PASSAGE = 1200
"""Characters."""
BETWEEN = " › "
"""Stands between the headings above a passage."""
OVERLAP = 150
"""Characters, at most, that a passage repeats of the one before."""

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_ENDS = (re.compile(r"\n[ \t]*\n"), re.compile(r"\n"), re.compile(r"[.!?…]\s|[。！？]"), re.compile(r"\s"))
"""Where a passage may end, the best first."""


class Passage(NamedTuple):
    """``text`` is the document's text from ``start`` on; ``heading`` the headings above it, with ``BETWEEN``."""

    heading: str
    start: int
    text: str


class _Section(NamedTuple):
    heading: str
    start: int
    end: int


def passages(text: str) -> list[Passage]:
    """The passages of a text, in order. Together they have all of it but white space."""
    found: list[Passage] = []
    for section in _sections(text):
        for start, end in _windows(text, section.start, section.end):
            part = text[start:end]
            if whole := part.strip():
                found.append(Passage(section.heading, start + part.index(whole[0]), whole))
    return found


def _sections(text: str) -> Iterator[_Section]:
    """Runs of text below one heading. A heading with nothing below it goes with what follows."""
    path: list[tuple[int, str]] = []
    start, has_text, fence = 0, False, ""
    position = 0
    for line in text.splitlines(keepends=True):
        found = None if fence else _HEADING.match(line.rstrip("\r\n"))
        if found:
            if has_text:
                yield _Section(_joined(path), start, position)
                start, has_text = position, False
            level = len(found.group(1))
            path = [*((depth, name) for depth, name in path if depth < level), (level, found.group(2))]
        else:
            has_text = has_text or bool(line.strip())
            fence = _fence_after(line, fence)
        position += len(line)
    yield _Section(_joined(path), start, position)


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open behind this line: within one, a # is code."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found.group(1)
    return "" if found.group(1) == fence else fence


def _joined(path: list[tuple[int, str]]) -> str:
    return BETWEEN.join(name for _, name in path)


def _windows(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges of at most ``LONGEST_PASSAGE`` that cover start to end."""
    while end - start > LONGEST_PASSAGE:
        cut = _end_before(text, start + LONGEST_PASSAGE // 2, start + LONGEST_PASSAGE)
        yield start, cut
        start = _start_after(text, cut - OVERLAP, cut)
    yield start, end


def _end_before(text: str, least: int, most: int) -> int:
    for pattern in _ENDS:
        ends = [found.end() for found in pattern.finditer(text, least, most)]
        if ends:
            return ends[-1]
    return most


def _start_after(text: str, least: int, cut: int) -> int:
    """The first beginning of a line, a sentence or a word within the overlap."""
    end = cut
    while end > least and text[end - 1].isspace():
        end -= 1
    for pattern in _ENDS[1:]:
        found = pattern.search(text, least, end)
        if found and found.end() < end:
            return found.end()
    return cut
