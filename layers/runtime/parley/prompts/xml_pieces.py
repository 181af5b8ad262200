"""A call's arguments while the model still writes them: the JSON, without what models wrap around it.

Owns what can be told before the call is whole. What stands in front of the object (CDATA marks, a code fence, the
``{"name": …, "arguments":`` of a call that names itself inside) is skipped; what may yet turn out to close it, or the
call, is kept back. ``xml_arguments`` reads the whole.
"""

from __future__ import annotations

import re

_WRAP = r"\s{0,200}(?:<!\[CDATA\[\s{0,200})?(?:(?:`{3,}|~{3,})[^\n`{<]{0,50}\n\s{0,200})?"
_NAME = r'\{\s{0,50}"name"\s{0,50}:\s{0,50}"(?P<name>[^"\\&<]{1,200})"\s{0,50},\s{0,50}'
_OBJECT = re.compile(rf"{_WRAP}(?=\{{)")
_NAMED_OBJECT = re.compile(rf'{_WRAP}{_NAME}"(?:arguments|parameters)"\s{{0,50}}:\s{{0,50}}(?=\{{)')
_MAY_CLOSE = " \t\r\n}]>`~"
_END = "</tool_call"
_LONGEST_END = 20


class ArgumentPieces:
    """The arguments of one call. ``name``: the call's, once it is certain; ``sent``: what was given out."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self._names_itself = name is None
        self._start: int | None = None
        self._pieces: list[str] = []
        self._length = 0

    @property
    def sent(self) -> str:
        """Everything that was given out."""
        return "".join(self._pieces)

    def begin(self, body: str) -> None:
        """Look for the beginning of the object in what there is of the call's body."""
        if self._start is not None:
            return
        found = (_NAMED_OBJECT if self._names_itself else _OBJECT).match(body)
        if found is not None:
            self._start = found.end()
            self.name = found["name"] if self._names_itself else self.name

    def more(self, body: str, end: int | None) -> str:
        """What is certain by now and was not given out. ``end``: where the body ends at the earliest, if known."""
        if self._start is None:
            return ""
        at = self._start + self._length
        piece = body[at : _possible_end(body, at) if end is None else end].rstrip(_MAY_CLOSE)
        self._pieces.append(piece)
        self._length += len(piece)
        return piece

    def whole(self, body: str) -> str | None:
        """The object's text in a body that is whole; None if its beginning was none that is known."""
        if self._start is None:
            return None
        text = body[self._start :].rstrip().removesuffix("]]>").rstrip().rstrip("`~").rstrip()
        return text.removesuffix("}").rstrip() if self._names_itself else text


def _possible_end(body: str, start: int) -> int:
    """Where the end of the call may be beginning; else the end of what there is."""
    place = body.rfind("<", max(start, len(body) - _LONGEST_END))
    end = body[place:] if place >= 0 else ""
    return place if end and (_END.startswith(end) or end.startswith(_END)) else len(body)
