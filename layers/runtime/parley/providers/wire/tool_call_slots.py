"""Which call a delta of a streamed tool call belongs to.

By OpenAI's rules deltas join by ``index`` and only the first has ``id`` and ``name``. Servers that speak the
same wire leave the index out, or give all calls the same one, send the id as null, "" or again and again,
repeat the name, or send whole calls at once; all of these are told apart here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from parley.domain.errors import StreamCut
from parley.providers.wire.shapes import as_object
from parley.turns.model_ports import ToolArgumentsDelta, ToolCallStart


@dataclass(slots=True)
class _Slot:
    """One call of the reply. ``number`` counts the calls that have a name, as they got it."""

    wire_index: int | None
    wire_id: str | None
    number: int | None = None
    name: str = ""
    arguments: str = ""

    @property
    def whole(self) -> bool:
        """Whether the arguments so far are a JSON object."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


class ToolCallSlots:
    """The calls of one reply, as far as they have come."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self.count = 0

    def take(self, delta: Any) -> Iterator[ToolCallStart | ToolArgumentsDelta]:
        """What one element of ``delta.tool_calls`` adds."""
        if not isinstance(delta, dict):
            raise StreamCut("the provider sent a tool call that is not an object")
        function = as_object(delta.get("function"))
        name, arguments = str(function.get("name") or ""), _arguments(function.get("arguments"))
        wire_id = str(delta["id"]) if delta.get("id") else None
        index = delta.get("index") if isinstance(delta.get("index"), int) else None
        slot = self._find(wire_id, index, name, arguments)
        if slot is None:
            slot = _Slot(index, wire_id)
            self._slots.append(slot)
        slot.wire_id = slot.wire_id or wire_id
        if name and not slot.name:
            slot.name, slot.number = name, self.count
            self.count += 1
            yield ToolCallStart(slot.number, name, slot.wire_id)
            arguments, slot.arguments = slot.arguments + arguments, ""
        slot.arguments += arguments
        if arguments and slot.number is not None:
            yield ToolArgumentsDelta(slot.number, arguments)

    def check(self) -> None:
        """Raises StreamCut if a call never got its name."""
        if any(not slot.name for slot in self._slots):
            raise StreamCut("the provider sent a tool call without a name")

    def _find(self, wire_id: str | None, index: int | None, name: str, arguments: str) -> _Slot | None:
        """The slot that goes on with this delta; None for a new call."""
        if wire_id is not None:
            return self._by_id(wire_id, index, name)
        of_index = [slot for slot in self._slots if index is None or slot.wire_index in (index, None)]
        last = of_index[-1] if of_index else None
        if last is None or not (name and last.name):
            return last
        # A name where there is one already: said again, or the next whole call of a server that numbers none.
        another = (name != last.name and bool(arguments or last.arguments)) or (
            bool(arguments) and last.whole
        )
        return None if another else last

    def _by_id(self, wire_id: str, index: int | None, name: str) -> _Slot | None:
        same = [slot for slot in self._slots if slot.wire_id == wire_id]
        for slot in same:
            if index is None or slot.wire_index in (index, None):
                return slot
        if same and not name:
            return same[-1]
        if same:
            return None  # one id for every call: the index tells them apart
        for slot in reversed(self._slots):
            if slot.wire_id is None and slot.wire_index == index and not (name and slot.name):
                return slot  # its id comes late
        return None


def _arguments(value: Any) -> str:
    """Arguments as JSON text; some servers send the object itself."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
