"""Bytes to lines, and lines to server-sent events, or to the one JSON text that came in their place.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html. On purpose more lenient in one point:
an event that the end of the stream cuts off behind a whole line is given out, because some servers leave out
the last blank line.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


class LineDecoder:
    """Lines out of bytes in any pieces. A line ends with LF, CRLF or CR, and nothing else does."""

    def __init__(self) -> None:
        # Bytes that are not UTF-8 become U+FFFD: a broken character is no reason to lose a reply.
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pending: list[str] = []
        self._after_cr = False
        self._at_start = True

    def feed(self, data: bytes, *, final: bool = False) -> list[str]:
        """The lines that are complete now; with ``final`` also what is left, if it is not empty."""
        text = self._utf8.decode(data, final)
        if self._at_start and text:
            text = text.removeprefix("\ufeff")
            self._at_start = False
        if self._after_cr and text:
            text = text.removeprefix("\n")
            self._after_cr = False
        lines: list[str] = []
        if text:
            self._after_cr = text.endswith("\r")
            *complete, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            for line in complete:
                lines.append("".join((*self._pending, line)))
                self._pending.clear()
            if rest:
                self._pending.append(rest)
        if final and self._pending:
            lines.append("".join(self._pending))
            self._pending.clear()
        return lines


def decode_lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of a byte stream, each as soon as it is complete."""
    decoder = LineDecoder()
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.feed(b"", final=True)


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: ``event`` is "message" unless it names another; ``data`` lines are joined with LF."""

    data: str
    event: str = "message"


def decode_events(lines: Iterable[str]) -> Iterator[ServerSentEvent]:
    """The events in ``lines``; comments, unknown fields and events without data are left out."""
    data: list[str] = []
    event = ""
    for line in lines:
        if not line:
            if data:
                yield ServerSentEvent("\n".join(data), event or "message")
            data, event = [], ""
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            event = value
    if data:
        yield ServerSentEvent("\n".join(data), event or "message")


def json_or_lines(lines: Iterable[str]) -> tuple[str, Iterator[str]]:
    """A body that is one JSON text (an error, a reply in one piece), or "" and the lines of an event stream."""
    source = iter(lines)
    for first in source:
        if first.strip():
            source = itertools.chain([first], source)
            return ("\n".join(source), iter(())) if first.lstrip().startswith(("{", "[")) else ("", source)
    return "", source
