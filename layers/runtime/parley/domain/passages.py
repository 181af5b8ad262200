"""How a document's text falls into passages: small enough to be quoted, whole enough to be understood alone.

A passage never crosses a heading that has text below it, and ends at a paragraph, a line, a sentence or a word,
whichever comes first in that order. Long sections overlap a little, so that what stands at a cut is whole in one of the
two. In a text of very many sections neighbours go together: each passage is indexed with the headings above it, the
document's title and its id, which would outweigh the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

LONGEST_PASSAGE = 1200
"""Characters."""
BETWEEN = " › "
"""Stands between the headings above a passage."""
OVERLAP = 150
"""Characters, at most, that a passage repeats of the one before."""

MOST_SECTIONS = 2000
"""Sections of a text that are passages of their own, however short."""
LONGEST_HEADING = 200
"""Characters that are kept of a heading, and of all headings above a passage: they are indexed with each passage."""

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_ENDS = (re.compile(r"\n[ \t]*\n"), re.compile(r"\n"), re.compile(r"[.!?…]\s|[。！？]"), re.compile(r"\s"))
"""Where a passage may end, the best first."""


class Passage(NamedTuple):
    """``text`` is the document's text from ``start`` on; ``heading`` the headings above it, with ``BETWEEN``."""

    heading: str
    start: int
    text: str


class _Section(NamedTuple):
    headings: tuple[str, ...]
    start: int
    end: int


def passages(text: str) -> list[Passage]:
    """The passages of a text, in order. Together they have all of it but white space."""
    found: list[Passage] = []
    sections = list(_sections(text))
    if len(sections) > MOST_SECTIONS:
        sections = _together(sections, len(text) // MOST_SECTIONS)
    for section in sections:
        heading = _joined(section.headings)
        for start, end in _windows(text, section.start, section.end):
            part = text[start:end]
            if whole := part.strip():
                found.append(Passage(heading, start + part.index(whole[0]), whole))
    return found


def _together(sections: list[_Section], least: int) -> list[_Section]:
    """Neighbours as one until they have so many characters, below the headings that all of them are below."""
    found: list[_Section] = []
    for section in sections:
        last = found[-1] if found else None
        if last is None or last.end - last.start >= least:
            found.append(section)
        else:
            same = takewhile(
                lambda pair: pair[0] == pair[1], zip(last.headings, section.headings, strict=False)
            )
            found[-1] = _Section(tuple(heading for heading, _ in same), last.start, section.end)
    return found


def _sections(text: str) -> Iterator[_Section]:
    """Runs of text below one heading. A heading with nothing below it goes with what follows."""
    path: list[tuple[int, str]] = []
    start, has_text, position = 0, False, 0
    for line, heading in lines(text):
        if heading:
            if has_text:
                yield _Section(_names(path), start, position)
                start, has_text = position, False
            path = [*((level, name) for level, name in path if level < heading[0]), heading]
        else:
            has_text = has_text or bool(line.strip())
        position += len(line)
    yield _Section(_names(path), start, position)


def _names(path: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(name for _, name in path)


def lines(text: str) -> Iterator[tuple[str, tuple[int, str] | None]]:
    """Each line with its end and, if it is a heading, its level and what it says."""
    fence = ""
    for line in text.splitlines(keepends=True):
        heading = None if fence else _heading(line)
        if heading is None:
            fence = _fence_after(line, fence)
        yield line, heading


def _heading(line: str) -> tuple[int, str] | None:
    found = _HEADING.match(line)
    if found is None:
        return None
    # No pattern for the rest: in a line of nothing but spaces and #, it would try every way to part them.
    words = line[found.end() :].strip()
    open_end = words.rstrip("#")
    if not open_end or open_end[-1].isspace():
        words = open_end.rstrip()  # "## Title ##"; but C# is called C#
    return (len(found.group(1)), words[:LONGEST_HEADING].rstrip()) if words else None


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open behind this line: within one, a # is code."""
    found = _FENCE.match(line)
    if found is None:
        return fence
    if not fence:
        return found.group(1)
    return "" if found.group(1) == fence else fence


def _joined(headings: Sequence[str]) -> str:
    """The headings, the outermost left out until the rest is short enough."""
    while len(joined := BETWEEN.join(headings)) > LONGEST_HEADING:
        headings = headings[1:]
    return joined


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
