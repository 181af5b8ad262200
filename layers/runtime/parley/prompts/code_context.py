"""Where a model's text is code or thought: what looks like a tool call there is only talk of one.

Owns the reading of Markdown code (fences of backticks or tildes, spans within a line) and of a reply that
begins with ``<think>``, as text arrives in pieces. On purpose generous: a fence counts in quotes and lists too.
"""

from __future__ import annotations

import re

_PIECES = re.compile(r"`+|\n|[^`\n]+")
_QUOTES = r"[ \t>]*"
_OPENS = re.compile(rf"{_QUOTES}(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+)*(`{{3,}}[^`]*|~{{3,}}.*)", re.DOTALL)
_CLOSES = re.compile(rf"{_QUOTES}(`{{3,}}|~{{3,}})\s*")
_LINE_START = 200
"""Characters of a line that are looked at for a fence."""
_THINK, _THOUGHT = "<think>", "</think>"


class CodeContext:
    """Reads text and tells whether its end lies in code or in thought."""

    def __init__(self) -> None:
        self._line = ""
        self._fence = ""
        self._open_ticks = 0
        self._last_ticks = 0
        self._thought = ""
        self._thinking: bool | None = None

    def read(self, text: str) -> None:
        """Go on by this text."""
        self._think(text)
        for piece in _PIECES.findall(text):
            if piece == "\n":
                self._end_line()
                continue
            if piece[0] == "`":
                self._last_ticks += len(piece)
            else:
                self._open_ticks, self._last_ticks = self._span(), 0
            self._line = (self._line + piece[:_LINE_START])[:_LINE_START]

    @property
    def inside(self) -> bool:
        """Whether what comes next is code or thought."""
        return bool(self._thinking or self._fence or self._span() or _OPENS.fullmatch(self._line))

    def _span(self) -> int:
        """The run of backticks that none of the same length has answered on this line, or 0."""
        if not self._open_ticks:
            return self._last_ticks
        return 0 if self._last_ticks == self._open_ticks else self._open_ticks

    def _end_line(self) -> None:
        line = self._line
        self._line, self._open_ticks, self._last_ticks = "", 0, 0
        if self._fence:
            closes = _CLOSES.fullmatch(line)
            if closes and closes[1].startswith(self._fence):
                self._fence = ""
        elif opens := _OPENS.fullmatch(line):
            mark = opens[1][0]
            self._fence = mark * (len(opens[1]) - len(opens[1].lstrip(mark)))

    def _think(self, text: str) -> None:
        """A thought begins the reply or there is none."""
        if self._thinking is None:
            self._thought = (self._thought + text).lstrip()
            if self._thought.startswith(_THINK):
                self._thinking = True
            elif not _THINK.startswith(self._thought):
                self._thinking = False
        elif self._thinking:
            self._thought = self._thought[-len(_THOUGHT) :] + text
        if self._thinking and _THOUGHT in self._thought:
            self._thinking = False
