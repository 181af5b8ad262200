"""Where text goes: a terminal with colours, or a plain stream."""

from __future__ import annotations

import re
from typing import TextIO

from parley.cli.failure import CommandFailed

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
# What a model or a function says is text, never a command to the terminal; nor may it turn around what stands
# beside it, such as the question that somebody is about to approve. Right-to-left text needs none of these.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# What shows nothing, or turns the direction of what follows: the same characters that the page names.
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)


class OutputFailed(CommandFailed):
    """What was said could not be written: a full disk, as a rule."""


class Terminal:
    """An output stream. Colours only where they are wanted."""

    def __init__(self, out: TextIO, *, colours: bool) -> None:
        self._out = out
        self._colours = colours

    def write(self, text: str) -> None:
        """Write and show at once. Raises OutputFailed, and BrokenPipeError if the reader has gone."""
        try:
            self._out.write(text)
            self._out.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputFailed(f"the output cannot be written: {error.strerror}") from error

    def line(self, text: str = "") -> None:
        self.write(text + "\n")

    def styled(self, style: str, text: str) -> str:
        """The text in a style, or as it is."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colours else text


def terminal_for(out: TextIO, *, no_color: bool) -> Terminal:
    """Colours on a terminal, unless the user does not want any (https://no-color.org)."""
    return Terminal(out, colours=out.isatty() and not no_color)


def clean(text: str) -> str:
    """Text without control characters (line ends and tabs stay)."""
    return _CONTROL.sub("", text)


def named(text: str) -> str:
    """Text in which each character that does not show is named: whoever decides sees what is there."""
    return _HIDDEN.sub(lambda found: f"⟦U+{ord(found[0]):04X}⟧", text)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, with an ellipsis where something was left out."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
