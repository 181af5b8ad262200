"""Deltas put together, as the use cases do it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from parley.turns.model_ports import (
    Delta,
    Finish,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallEnd,
    ToolCallStart,
)


@dataclass
class Reply:
    """A whole reply. ``calls``: name, provider's id and argument text of each, in order."""

    text: str = ""
    calls: list[list[Any]] = field(default_factory=list)
    finish: Finish | None = None

    @property
    def arguments(self) -> list[Any]:
        return [json.loads(text or "{}") for _, _, text in self.calls]

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.calls]


def collect(deltas: Iterable[Delta]) -> Reply:
    """The whole reply; raises what the stream raises."""
    reply = Reply()
    for delta in deltas:
        assert reply.finish is None, "nothing comes behind the end"
        match delta:
            case TextDelta(text):
                assert text
                reply.text += text
            case ToolCallStart(index, name, provider_id):
                assert index == len(reply.calls)
                reply.calls.append([name, provider_id, ""])
            case ToolArgumentsDelta(index, text):
                reply.calls[index][2] += text
            case ToolCallEnd(index, arguments):
                reply.calls[index][2] = arguments
            case Finish():
                reply.finish = delta
    return reply
