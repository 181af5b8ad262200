"""The order of a reply's blocks, where some of them must come back unchanged and in their places.

Providers that think between text and calls sign their thoughts and want them back exactly. A stored message
has its text and its calls; what else there was, and in which order, is kept beside it as ``provider_data``::

    {"blocks": [{"kept": {…}}, {"text": 12}, {"call": true}]}

``text`` counts characters of the message's text, each ``call`` stands for its next call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parley.domain.messages import ToolCall
from parley.prompts.prompt import PromptMessage
from parley.providers.wire.shapes import as_list, as_object


class BlockOrder:
    """Notes the blocks of one reply as they come."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._has_kept = False

    def text(self, length: int) -> None:
        """So many characters more of text."""
        if self._blocks and "text" in self._blocks[-1]:
            self._blocks[-1]["text"] += length
        else:
            self._blocks.append({"text": length})

    def call(self) -> None:
        """A call begins."""
        self._blocks.append({"call": True})

    def kept(self, block: dict[str, Any]) -> None:
        """A block, JSON, that goes back as it is."""
        self._has_kept = True
        self._blocks.append({"kept": block})

    def provider_data(self) -> dict[str, Any]:
        """For ``Finish``: empty if text and calls are all there was, for then their order does not matter."""
        return {"blocks": self._blocks} if self._has_kept else {}


def blocks_of(message: PromptMessage, data: dict[str, Any]) -> list[str | ToolCall | dict[str, Any]]:
    """An assistant message's blocks: text, calls, and what was kept. Blank text is left out, and so is what
    was kept behind everything else: a thought that a reply was cut off after may not end a message.

    ``data``: what ``provider_data`` gave, or nothing. If text or calls are no longer those of the reply (a
    call was cut off, calls became text), what was kept comes first, then text, then calls.
    """
    noted = [as_object(block) for block in as_list(data.get("blocks"))]
    found = _in_order(noted, message.content, message.tool_calls)
    if found is None:
        kept = [block["kept"] for block in noted if isinstance(block.get("kept"), dict)]
        found = [*kept, message.content, *message.tool_calls]
    said = [block for block in found if not isinstance(block, str) or block.strip()]
    while said and isinstance(said[-1], dict):
        said.pop()
    return said


def _in_order(
    noted: list[dict[str, Any]], text: str, calls: Sequence[ToolCall]
) -> list[str | ToolCall | dict[str, Any]] | None:
    """The blocks as noted, or None if the notes do not fit the message."""
    found: list[str | ToolCall | dict[str, Any]] = []
    left = list(calls)
    for block in noted:
        match block:
            case {"kept": dict(kept)}:
                found.append(kept)
            case {"text": int(length)}:
                found.append(text[:length])
                text = text[length:]
            case {"call": True} if left:
                found.append(left.pop(0))
            case _:
                return None
    return None if text or left else found
