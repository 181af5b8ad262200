"""Which turn, model call and tool call each visited state worked on. Pure: read off the order of the visits.

A history without execution data names states and nothing of what they carried. But the machine's order is fixed:
a turn ends with RecordReply or FailTurn, a model call begins with BuildPrompt, and inside the Map the iteration
is the call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from parley.turns.ports import StateVisit

_ENDS_TURN: Final = frozenset({"RecordReply", "FailTurn"})
_IN_STEP: Final = frozenset({"BuildPrompt", "PromptReady", "InvokeModel", "ModelReplied", "WaitForProvider"})
_CALLS: Final = "HandleToolCalls"


class Place(NamedTuple):
    """None where a state belongs to no turn, to no model call of it, or to no tool call of that."""

    turn: int | None = None
    step: int | None = None
    call: int | None = None


class _Walk:
    """Where the next visit stands. A later attempt at a run goes on in the turn that the earlier one left."""

    def __init__(self, first_turn: int) -> None:
        self._turn = first_turn
        self._step = 0
        self._complete = True

    def place(self, visit: StateVisit) -> Place:
        if visit.iteration:
            return Place(self._turn, self._step, visit.iteration[-1])
        if visit.name in _ENDS_TURN:
            ended = Place(self._turn)
            if visit.outcome == "succeeded":
                self._turn, self._step, self._complete = self._turn + 1, 0, True
            return ended
        if visit.name == "ProposeActions":  # follows RecordReply
            return Place(self._turn - 1)
        if visit.name == "BuildPrompt" and self._complete:
            self._step, self._complete = self._step + 1, False
        if visit.name == _CALLS:
            self._complete = visit.outcome == "succeeded"
        return Place(self._turn, self._step) if visit.name in _IN_STEP or visit.name == _CALLS else Place()


def places(visits: Iterable[StateVisit], first_turn: int) -> list[Place]:
    """Of each visit, in order; ``visits`` are those of all attempts at a run whose first turn is ``first_turn``."""
    walk = _Walk(first_turn)
    return [walk.place(visit) for visit in visits]
