"""Reading tool calls out of a model's text as it arrives; ``xml_tools`` says how they are written.

Text is given out as soon as it cannot be the beginning of a call, and so is the beginning of a call: its name, then
its arguments as they are written, then the call as it is to be understood. It ends at the first ``</tool_call>``
behind which its arguments are a JSON object, so one inside an argument does not end it. What stands in code is text. A
reply that goes on to write a call's result itself ends there.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from parley.prompts.code_context import CodeContext
from parley.prompts.xml_arguments import read_arguments, read_entities
from parley.prompts.xml_pieces import ArgumentPieces

CUT_OFF = "the call was cut off before its </tool_call>, so nothing of it ran"

_CALL, _RESPONSE = "<tool_call", "<tool_response"
_MARKS = re.compile(rf"{_CALL}|{_RESPONSE}")
_VALUE = r"\"[^\"]*\"|'[^']*'|[^\s\"'<>/=]+"
_TAG = re.compile(rf"{_CALL}((?:\s+[\w:.-]+\s*=\s*(?:{_VALUE}))*)\s*(/?)>")
_ATTRIBUTE = re.compile(rf"([\w:.-]+)\s*=\s*({_VALUE})")
_UNFINISHED_TAG = re.compile(rf"{_CALL}(?:\s(?:[^\"'<>]|\"[^\"]*\"|'[^']*')*(?:\"[^\"]*|'[^']*)?|/)?")
_UNFINISHED_NAME = re.compile(r"\sname\s*=\s*[\"']?([^\"'<>]*)$")
_LONGEST_TAG = 2_000
_END = re.compile(r"</tool_call\s{0,8}>")
_LONGEST_END = 20
_NAME_INSIDE = re.compile(r"\{\s*\"name\"\s*:\s*\"([^\"\\]{1,200})\"")


@dataclass(frozen=True, slots=True)
class CallBegun:
    """A call to this function begins. What follows, up to its `TextCall`, belongs to it."""

    name: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """More of the begun call's arguments."""

    text: str


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call: ``arguments`` is JSON text, or the model's own words if they cannot be read as an object.

    They are what its pieces say together, or count in place of them. ``error``: why it cannot run although the
    arguments say nothing wrong.
    """

    name: str
    arguments: str
    error: str | None = None


Part = str | CallBegun | CallPiece | TextCall


class TextCalls:
    """The calls of one reply. ``feed`` and ``finish`` return text and calls in their order."""

    def __init__(self) -> None:
        self._buffer = ""
        self._context = CodeContext()
        self._open: _OpenCall | None = None
        self._found: list[Part] = []
        self._calls = 0
        self.ended = False

    def feed(self, text: str) -> list[Part]:
        """More of the reply. Once ``ended`` is true, nothing more comes."""
        if self.ended:
            return []
        self._buffer += text
        while self._step(final=False):
            pass
        return self._take()

    def finish(self) -> list[Part]:
        """The reply is over: what was held back."""
        while not self.ended and self._step(final=True):
            pass
        return self._take()

    def _take(self) -> list[Part]:
        found, self._found = self._found, []
        return found

    def _step(self, *, final: bool) -> bool:
        """Go on by one piece; False if that needs more text."""
        if self._open is None:
            return self._step_in_text(final=final)
        return self._step_in_call(self._open, final=final)

    def _step_in_text(self, *, final: bool) -> bool:
        mark = _MARKS.search(self._buffer)
        if mark is None:
            self._give_out(len(self._buffer) - (0 if final else _held_back(self._buffer)))
            return False
        self._give_out(mark.start())
        if self._context.inside:
            self._give_out(len(mark.group()))
            return True
        if mark.group() == _RESPONSE:
            if self._calls:
                self.ended = True
                return False
            self._give_out(len(_RESPONSE))
            return True
        tag = _TAG.match(self._buffer)
        if tag is None:
            return self._step_in_tag(final=final)
        self._open = _OpenCall(tag)
        self._tell_name(self._open)
        self._buffer = self._buffer[tag.end() :]
        return True

    def _step_in_tag(self, *, final: bool) -> bool:
        """At a tag that has no end yet, or never will."""
        unfinished = len(self._buffer) <= _LONGEST_TAG and _UNFINISHED_TAG.fullmatch(self._buffer)
        if unfinished and not final:
            return False
        name = (_name_in(self._buffer) or _unfinished_name(self._buffer)) if unfinished else None
        if name is None:
            self._give_out(len(_CALL))
        else:
            self._add(TextCall(name, "", CUT_OFF), len(self._buffer))
        return True

    def _step_in_call(self, call: _OpenCall, *, final: bool) -> bool:
        if call.is_empty:
            self._add(TextCall(call.name or "", "{}"), 0)
            return True
        if call.may_be_prose(self._buffer):
            self._reopen_as_text(call)
            return True
        call.pieces.begin(self._buffer)
        self._tell_name(call)
        while end := _END.search(self._buffer, call.looked_at):
            call.note(end)
            whole = call.read(self._buffer[: end.start()])
            if whole is not None:
                self._add(whole, end.end())
                return True
        if not final:
            call.looked_at = max(call.looked_at, len(self._buffer) - _LONGEST_END)
            self._tell_arguments(call.pieces.more(self._buffer, call.first_end))
            return False
        broken, length = call.broken(self._buffer)
        if broken is None:
            self._reopen_as_text(call)
        else:
            self._add(broken, length)
        return True

    def _give_out(self, length: int) -> None:
        text, self._buffer = self._buffer[:length], self._buffer[length:]
        if text:
            self._context.read(text)
            self._found.append(text)

    def _tell_name(self, call: _OpenCall) -> None:
        if not call.told and call.pieces.name is not None:
            call.told = True
            self._found.append(CallBegun(call.pieces.name))

    def _tell_arguments(self, text: str) -> None:
        if text:
            self._found.append(CallPiece(text))

    def _add(self, call: TextCall, length: int) -> None:
        if self._open is None or not self._open.told:
            self._found.append(CallBegun(call.name))
        sent = self._open.pieces.sent if self._open else ""
        if call.arguments.startswith(sent):
            self._tell_arguments(call.arguments[len(sent) :])
        self._found.append(call)
        self._calls += 1
        self._buffer, self._open = self._buffer[length:], None

    def _reopen_as_text(self, call: _OpenCall) -> None:
        self._buffer, self._open = call.tag + self._buffer, None
        self._give_out(len(_CALL))


class _OpenCall:
    """A call whose tag has been read. Without a name in the tag it may be ``{"name": …, "arguments": {…}}``,
    a form that many open models were trained on.
    """

    def __init__(self, tag: re.Match[str]) -> None:
        self.tag = tag.group()
        self.name = _name_in(tag.group(1))
        self.is_empty = bool(tag.group(2)) and self.name is not None
        self.pieces = ArgumentPieces(self.name)
        self.told = False
        self.looked_at = 0
        self.first_end: int | None = None

    def note(self, end: re.Match[str]) -> None:
        """What may be the end was found. Nothing behind the first one is given out before it is known to belong."""
        self.looked_at = end.end()
        if self.first_end is None:
            self.first_end = end.start()

    def may_be_prose(self, body: str) -> bool:
        """Whether this is talk of the tag: it names nothing and no object follows."""
        start = body.lstrip()[:1]
        return self.name is None and start not in {"", "{", "<", "`", "~", "&"}

    def read(self, body: str) -> TextCall | None:
        """The call, if this is its whole body."""
        value = read_arguments(body)
        if value is None:
            return None
        name, arguments = value.get("name"), value.get("arguments", value.get("parameters", {}))
        if self.name is not None:
            said_twice = name == self.name and value.keys() == {"name", "arguments"}
            name, arguments = self.name, arguments if said_twice else value
        name = name if self.pieces.name is None else self.pieces.name
        try:
            return TextCall(name, self._text_of(arguments, body)) if isinstance(name, str) else None
        except RecursionError:
            return None

    def _text_of(self, arguments: Any, body: str) -> str:
        """The arguments as the model wrote them, if that is JSON that says the same."""
        text = self.pieces.whole(body)
        try:
            return text if text is not None and json.loads(text) == arguments else _json(arguments)
        except ValueError:
            return _json(arguments)

    def broken(self, rest: str) -> tuple[TextCall | None, int]:
        """What to make of a call that never became whole, and how much of the text belongs to it."""
        named = _NAME_INSIDE.search(rest)
        name = self.pieces.name if self.pieces.name is not None else named and named[1]
        if name is None:
            return None, 0
        end = _END.search(rest)
        if end is None:
            return TextCall(name, "", CUT_OFF), len(rest)
        return TextCall(name, rest[: end.start()].strip()), end.end()


def _name_in(attributes: str) -> str | None:
    for name, value in _ATTRIBUTE.findall(attributes):
        if name == "name":
            return read_entities(value[1:-1] if value[0] in "\"'" else value)
    return None


def _unfinished_name(tag: str) -> str | None:
    cut = _UNFINISHED_NAME.search(tag)
    return cut[1] if cut else None


def _held_back(text: str) -> int:
    """How many characters at the end may be the beginning of a mark."""
    for length in range(min(len(text), len(_RESPONSE) - 1), 0, -1):
        end = text[-length:]
        if _CALL.startswith(end) or _RESPONSE.startswith(end):
            return length
    return 0


def _json(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
