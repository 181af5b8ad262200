"""From Step Functions' history events to the states that an execution visited. Pure.

Events form a tree by ``previousEventId``: one chain per execution, a branch of it per Map iteration. So an
event's place (which visit, in which iteration) is that of the event before it, until it says otherwise.
https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from parley.turns.ports import StateVisit

_ENTERED: Final = "StateEntered"
_EXITED: Final = "StateExited"
_TRIED: Final = frozenset({"TaskScheduled", "LambdaFunctionScheduled", "MapStateStarted"})
_FAILED: Final = frozenset(
    {
        "LambdaFunctionFailed",
        "LambdaFunctionScheduleFailed",
        "LambdaFunctionStartFailed",
        "TaskFailed",
        "TaskStartFailed",
        "TaskSubmitFailed",
    }
)
_TIMED_OUT: Final = frozenset({"LambdaFunctionTimedOut", "TaskTimedOut"})
_SUCCEEDED: Final = frozenset({"LambdaFunctionSucceeded", "MapStateSucceeded", "TaskSucceeded"})
_EXECUTION_ENDS: Final = {
    "ExecutionAborted": "aborted",
    "ExecutionFailed": "failed",
    "ExecutionSucceeded": "succeeded",
    "ExecutionTimedOut": "timed_out",
}
_ITERATION_ENDS: Final = frozenset({"MapIterationSucceeded", "MapIterationFailed", "MapIterationAborted"})
_TIMEOUT: Final = "States.Timeout"

_Iteration = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an event happened: the visit's number, if it is within one, and the Map iteration."""

    visit: int | None = None
    iteration: _Iteration = ()


class _Reader:
    """The visits found so far, and the place of every event."""

    def __init__(self) -> None:
        self.visits: list[StateVisit] = []
        self._places: dict[int, _Place] = {}
        self._tries: dict[int, int] = {}
        self._maps: dict[_Iteration, int] = {}

    def read(self, event: Mapping[str, Any]) -> None:
        """Take in the next event."""
        before = self._places.get(event.get("previousEventId", 0), _Place())
        kind, at = event["type"], event["timestamp"].timestamp()
        if kind.endswith(_ENTERED):
            place = self._enter(event, before, at)
        elif kind.endswith(_EXITED):
            place = self._exit(event, before, at)
        elif kind == "MapIterationStarted":
            place = self._start_iteration(event, before)
        elif kind in _ITERATION_ENDS:
            place = self._end_iteration(event, before, at)
        elif kind in _EXECUTION_ENDS:
            self._end_execution(event, _EXECUTION_ENDS[kind], before, at)
            place = _Place()
        elif kind.startswith("MapState"):
            place = self._map_happens(event, before, at)
        else:
            place = before
            if before.visit is not None:
                self._happen(event, before.visit, at)
        self._places[event["id"]] = place

    def _enter(self, event: Mapping[str, Any], before: _Place, at: float) -> _Place:
        kind = event["type"].removesuffix(_ENTERED)
        self.visits.append(
            StateVisit(
                name=event["stateEnteredEventDetails"]["name"],
                type=kind,
                entered_at=at,
                waiting=kind == "Wait",
                iteration=before.iteration,
            )
        )
        return _Place(len(self.visits) - 1, before.iteration)

    def _exit(self, event: Mapping[str, Any], before: _Place, at: float) -> _Place:
        name = event["stateExitedEventDetails"]["name"]
        for number in reversed(range(len(self.visits))):
            visit = self.visits[number]
            within = before.iteration[: len(visit.iteration)] == visit.iteration
            if visit.name == name and visit.exited_at is None and within:
                # A failure that a Catch took is still how this visit ended.
                self._close(number, visit.outcome if visit.error else "succeeded", at)
                return _Place(None, visit.iteration)
        return before

    def _start_iteration(self, event: Mapping[str, Any], before: _Place) -> _Place:
        iteration = (*before.iteration, event["mapIterationStartedEventDetails"]["index"])
        if before.visit is not None:
            self._maps[iteration] = before.visit
        return _Place(None, iteration)

    def _end_iteration(self, event: Mapping[str, Any], before: _Place, at: float) -> _Place:
        details = next(value for key, value in event.items() if key.startswith("mapIteration"))
        own = next(
            (
                iteration
                for iteration, number in self._maps.items()
                if iteration[-1] == details["index"]
                and self.visits[number].name == details["name"]
                and self.visits[number].exited_at is None
                and iteration == before.iteration[: len(iteration)]
            ),
            None,
        )
        if own is None:
            return before
        for number, visit in enumerate(self.visits):
            if visit.exited_at is None and visit.iteration[: len(own)] == own:
                self._close(number, visit.outcome if visit.error else "aborted", at)
        return _Place(self._maps[own], own[:-1])

    def _end_execution(self, event: Mapping[str, Any], outcome: str, before: _Place, at: float) -> None:
        """Close what is open: the visit that failed, those around it, and those beside it."""
        error = (event.get("executionFailedEventDetails") or {}).get("error")
        for number, visit in enumerate(self.visits):
            if visit.exited_at is not None:
                continue
            if outcome == "failed":
                around = not visit.iteration or visit.iteration == before.iteration
                if around and not visit.error:
                    self._change(number, outcome="failed", error=error)
                ended = self.visits[number]
                self._close(number, ended.outcome if ended.error else "aborted", at)
            else:
                # What ends from outside is no failure of its own.
                self._change(number, error=None)
                self._close(number, outcome, at)

    def _map_happens(self, event: Mapping[str, Any], before: _Place, at: float) -> _Place:
        """An event of a whole Map; the one before it may be the last of any iteration."""
        number = next(
            (
                number
                for number, visit in reversed(list(enumerate(self.visits)))
                if visit.type == "Map"
                and visit.exited_at is None
                and visit.iteration == before.iteration[: len(visit.iteration)]
            ),
            None,
        )
        if number is None:
            return before
        self._happen(event, number, at)
        return _Place(number, self.visits[number].iteration)

    def _happen(self, event: Mapping[str, Any], number: int, at: float) -> None:
        kind, visit = event["type"], self.visits[number]
        if kind in _TRIED:
            tries = self._tries[number] = self._tries.get(number, 0) + 1
            self._change(number, outcome="running", error=None, retries=tries - 1, waiting=False)
        elif kind == "TaskSubmitted":
            resource = event.get("taskSubmittedEventDetails", {}).get("resource", "")
            self._change(number, waiting=resource.endswith(".waitForTaskToken"))
        elif kind in _SUCCEEDED:
            self._change(number, outcome="succeeded", error=None, waiting=False)
        elif kind in _TIMED_OUT:
            self._change(number, outcome="timed_out", error=_TIMEOUT, waiting=False)
        elif kind in _FAILED:
            error = _details(event).get("error", "States.TaskFailed")
            outcome = "timed_out" if error == _TIMEOUT else "failed"
            self._change(number, outcome=outcome, error=error, waiting=False)
        elif kind == "MapStateFailed":
            self._change(number, outcome="failed", error=self._error_within(number, visit.iteration))
        elif kind.endswith("StateAborted"):
            self._close(number, "aborted", at)

    def _error_within(self, number: int, iteration: _Iteration) -> str:
        """The error that failed a Map: the last one of an iteration of it."""
        failed = (
            visit.error
            for visit in reversed(self.visits[number + 1 :])
            if visit.error and visit.iteration[: len(iteration)] == iteration
        )
        return next(failed, None) or "States.TaskFailed"

    def _close(self, number: int, outcome: str, at: float) -> None:
        self._change(number, outcome=outcome, exited_at=at, waiting=False)

    def _change(self, number: int, **changes: Any) -> None:
        self.visits[number] = replace(self.visits[number], **changes)


def _details(event: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((value for key, value in event.items() if key.endswith("EventDetails")), {})


def visits_of(events: Sequence[Mapping[str, Any]]) -> list[StateVisit]:
    """The states entered, in order of entry, from all events of one execution in ascending order."""
    reader = _Reader()
    for event in events:
        reader.read(event)
    return reader.visits
