"""The iterations of an inline Map state.

Pages: "Map workflow state", "Using Map state in Inline mode": results in the order of the items; at most
MaxConcurrency at once, 0 for no bound; one failed iteration stops the others and fails the Map.
"""

from typing import TYPE_CHECKING, Any

from parley.embedded.asl import data as json_data
from parley.embedded.asl.definition import MapState
from parley.embedded.asl.errors import DATA_LIMIT, RUNTIME, StateError
from parley.embedded.interpreter.live import (
    Branch,
    ContextSource,
    LiveExecution,
    Status,
    Step,
    map_context,
)

if TYPE_CHECKING:
    from parley.embedded.interpreter.moves import Moves


class Maps:
    """The part of the moves that concerns Map states."""

    def __init__(self, moves: "Moves") -> None:
        self._moves = moves

    def begin(self, execution: LiveExecution, branch: Branch, state: MapState) -> None:
        """Start the iterations. Raises StateError."""
        context = ContextSource(execution, branch)
        data = state.effective_input(branch.data, context)
        items = state.items_path(data, context)
        if not isinstance(items, list):
            raise StateError(RUNTIME, f"The items of {state.name!r} are no array.")
        branch.status = Status.MAP
        branch.items = items
        self._moves.count(execution, branch, 1)  # MapStateStarted
        if not items:
            self._finish(execution, branch, state)
            return
        for index in range(min(len(items), state.max_concurrency or len(items))):
            self._start_iteration(execution, branch, state, index)

    def iteration_done(self, execution: LiveExecution, branch: Branch, step: Step) -> None:
        """An iteration ended with `step`: start the next, or end the Map. Raises StateError."""
        parent = branch.parent
        if parent is None or not isinstance(parent.state, MapState):
            raise AssertionError("an iteration belongs to a Map")
        self._moves.count(execution, branch, 1)  # MapIterationSucceeded
        branch.status = Status.DONE
        branch.data, branch.text = step.data, step.text
        branch.due = None
        execution.touch(branch, self._moves.host.serials)
        items = execution.items(parent)
        if len(parent.children) < len(items):
            self._start_iteration(execution, parent, parent.state, len(parent.children))
        elif all(child.status is Status.DONE for child in parent.children.values()):
            self._finish(execution, parent, parent.state)

    def abort_iterations(self, execution: LiveExecution, branch: Branch) -> None:
        """Stop what still runs below `branch`, and forget what has ended there."""
        for child in list(branch.children.values()):
            self.abort_iterations(execution, child)
            if child.visit:
                self._moves.exit(execution, child, "aborted", None)
            self._moves.drop(execution, child)

    def _start_iteration(self, execution: LiveExecution, branch: Branch, state: MapState, index: int) -> None:
        item = execution.items(branch)[index]
        data, text = item, ""
        if state.parameters is not None:
            context = {**execution.context(branch), "Map": map_context(index, item)}
            effective = state.effective_input(branch.data, lambda: context)
            data = state.parameters(effective, lambda: context)
        text = json_data.state_text(data, state.name, "input of an iteration")
        path = f"{branch.path}.{index}" if branch.path else str(index)
        child = Branch(path, branch, index)
        branch.children[index] = child
        execution.branches[path] = child
        self._moves.count(execution, child, 1)  # MapIterationStarted
        execution.todo.append((child, Step(state.start_at, data, text)))

    def _finish(self, execution: LiveExecution, branch: Branch, state: MapState) -> None:
        children = [branch.children[index] for index in range(len(branch.items))]
        results: list[Any] = [child.data for child in children]
        size = sum(json_data.size(child.text) + 1 for child in children) + 1
        execution.touch(branch, self._moves.host.serials)
        self.abort_iterations(execution, branch)
        if size > json_data.PAYLOAD_LIMIT:
            raise StateError(DATA_LIMIT, f"The results of {state.name!r} have {size} bytes together.")
        self._moves.count(execution, branch, 1)  # MapStateSucceeded
        self._moves.leave(execution, branch, self._moves.shape(execution, branch, results))
