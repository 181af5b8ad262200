"""What follows when a state reports an error: Retry, Catch, or the end of its Map or of the execution.

Page: "Handling errors in Step Functions workflows": retriers first, then catchers; the error output
{"Error", "Cause"} goes where the catcher's ResultPath says.
"""

from typing import TYPE_CHECKING

from parley.embedded.asl import data as json_data
from parley.embedded.asl.definition import RetriableState
from parley.embedded.asl.errors import TIMEOUT, StateError
from parley.embedded.asl.policies import find_catcher, find_retrier
from parley.embedded.interpreter.live import Branch, Closing, LiveExecution, Status, Step
from parley.turns.ports import ExecutionStatus

if TYPE_CHECKING:
    from parley.embedded.interpreter.moves import Moves


class Failures:
    """The part of the moves that concerns errors."""

    def __init__(self, moves: "Moves") -> None:
        self._moves = moves

    def handle(self, execution: LiveExecution, branch: Branch, failure: StateError) -> None:
        """`branch`'s state failed: find who takes it, from the state outwards."""
        moves = self._moves
        outcome = "timed_out" if failure.error == TIMEOUT else "failed"
        while True:
            execution.touch(branch, moves.host.serials)
            branch.due = None
            if isinstance(branch.state, RetriableState):
                moves.maps.abort_iterations(execution, branch)
                moves.tasks.stop_child(execution, branch)
                if self._retry(branch, branch.state, failure.error):
                    return
                try:
                    if self._catch(execution, branch, branch.state, failure):
                        return
                except StateError as misplaced:  # the error output fits nowhere: that is the error now
                    failure = misplaced
            moves.exit(execution, branch, outcome, failure.error)
            if branch.parent is None:
                self._close(execution, branch, failure, outcome)
                return
            # MapIterationFailed, MapStateFailed: the Map reports its iteration's error as its own.
            branch, outcome = branch.parent, "failed"
            moves.count(execution, branch, 2)

    def _retry(self, branch: Branch, state: RetriableState, error: str) -> bool:
        index = find_retrier(state.retriers, error)
        if index is None or branch.tries[index] >= state.retriers[index].attempts:
            return False
        branch.due = self._moves.host.now() + state.retriers[index].delay(branch.tries[index])
        branch.tries[index] += 1
        branch.retries += 1
        branch.status = Status.RETRY
        return True

    def _catch(
        self, execution: LiveExecution, branch: Branch, state: RetriableState, failure: StateError
    ) -> bool:
        catcher = find_catcher(state.catchers, failure.error)
        if catcher is None:
            return False
        output = catcher.place(branch.data, {"Error": failure.error, "Cause": failure.cause})
        text = json_data.state_text(output, state.name, "output")
        outcome = "timed_out" if failure.error == TIMEOUT else "failed"
        self._moves.exit(execution, branch, outcome, failure.error)
        self._moves.count(execution, branch, 1)  # StateExited
        execution.todo.append((branch, Step(catcher.next, output, text)))
        return True

    def _close(self, execution: LiveExecution, branch: Branch, failure: StateError, outcome: str) -> None:
        branch.events += 1  # ExecutionFailed
        execution.events += 1
        now = self._moves.host.now()
        closing = Closing(ExecutionStatus.FAILED, now, None, failure.error, failure.cause)
        self._moves.close(execution, closing, outcome)
