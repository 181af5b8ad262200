"""How a branch moves: into a state, out of it, on to the next, until it has to wait.

Pure of threads and database: a move changes the LiveExecution and notes what the commit must write, which
claims may run after it, which executions it starts and stops. Choice, Pass and Succeed need no commit of
their own: after a crash they are evaluated again from the last saved wait.

History events are counted as "Execution history" of the Developer Guide shows them, per state type.
"""

import itertools
import logging
from collections.abc import Callable
from typing import Any, Protocol

from parley.embedded.asl import data as json_data
from parley.embedded.asl.definition import (
    ChoiceState,
    FailState,
    MapState,
    PassState,
    RetriableState,
    State,
    SucceedState,
    TaskState,
    WaitState,
)
from parley.embedded.asl.errors import NO_CHOICE_MATCHED, RUNTIME, StateError
from parley.embedded.interpreter.failures import Failures
from parley.embedded.interpreter.live import (
    Branch,
    Closing,
    ContextSource,
    LiveExecution,
    Status,
    Step,
    Visit,
)
from parley.embedded.interpreter.maps import Maps
from parley.embedded.interpreter.tasks import Tasks
from parley.turns.ports import ExecutionStatus

_log = logging.getLogger(__name__)

# An execution that reaches 24,999 events ends with the next one, whatever it is
# ("Avoid reaching the history quota" of the Developer Guide).
HISTORY_LIMIT = 25_000


class Host(Protocol):
    """What moves need of the interpreter around them."""

    serials: "itertools.count[int]"
    lease_seconds: float

    def now(self) -> float:
        """Epoch seconds."""
        ...

    def token(self, execution: LiveExecution, branch: Branch) -> str:
        """The task token of the branch's present try."""
        ...

    def start_nested(self, execution: LiveExecution, machine: str, name: str, text: str) -> int:
        """Begin an execution in the same commit, or find it running; its id. Raises StateError."""
        ...


class _HistoryFull(Exception):
    """The execution has no events left."""


class Moves:
    """The moves of executions; `host` gives time, serials, tokens and nested executions."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.tasks = Tasks(self)
        self.maps = Maps(self)
        self.failures = Failures(self)

    # What happens to an execution from outside. Each is one move; the caller commits.

    def begin(self, execution: LiveExecution, data: Any) -> None:
        """The start: from StartAt to the first wait."""
        root = Branch("", None)
        execution.branches[""] = root
        self._moving(execution, root, lambda: self._begin(execution, root, data))

    def _begin(self, execution: LiveExecution, root: Branch, data: Any) -> None:
        self.count(execution, root, 1)  # ExecutionStarted
        execution.todo.append((root, Step(execution.machine.start_at, data, execution.input)))

    def succeed(self, execution: LiveExecution, branch: Branch, result: Any, text: str) -> None:
        """The Task's work gave `result` (`text` as JSON)."""
        self._moving(execution, branch, lambda: self._succeed(execution, branch, result, text))

    def _succeed(self, execution: LiveExecution, branch: Branch, result: Any, text: str) -> None:
        self.count(execution, branch, 1)  # TaskSucceeded
        json_data.check_size(text, branch.state.name, "result")
        self.leave(execution, branch, self.shape(execution, branch, result))

    def fail(self, execution: LiveExecution, branch: Branch, error: str, cause: str) -> None:
        """The Task's work failed, or took too long."""
        self._moving(execution, branch, lambda: self._fail(execution, branch, error, cause))

    def _fail(self, execution: LiveExecution, branch: Branch, error: str, cause: str) -> None:
        self.count(execution, branch, 1)  # TaskFailed, TaskTimedOut
        raise StateError(error, cause)

    def submitted(self, execution: LiveExecution, branch: Branch) -> None:
        """The function that holds the task token has returned; the token is still to be answered."""
        self._moving(execution, branch, lambda: self.tasks.submitted(execution, branch))

    def waited(self, execution: LiveExecution, branch: Branch) -> None:
        """The time of a Wait is over."""
        self._moving(execution, branch, lambda: self._waited(execution, branch))

    def _waited(self, execution: LiveExecution, branch: Branch) -> None:
        context = ContextSource(execution, branch)
        self.leave(execution, branch, branch.state.effective_input(branch.data, context))

    def retry(self, execution: LiveExecution, branch: Branch) -> None:
        """A retrier's delay is over: the next try."""
        self._moving(execution, branch, lambda: self._retry(execution, branch))

    def _retry(self, execution: LiveExecution, branch: Branch) -> None:
        branch.transitions += 1
        execution.transitions += 1
        self._try(execution, branch)

    def redeliver(self, execution: LiveExecution, branch: Branch) -> None:
        """The worker of this claim is gone: hand the same try, with the same token, to another."""
        self._moving(execution, branch, lambda: self.tasks.redeliver(execution, branch))

    def close(self, execution: LiveExecution, closing: Closing, outcome: str) -> None:
        """End the execution where it stands; states still open get `outcome`."""
        execution.todo.clear()
        execution.closing = closing
        for branch in list(execution.branches.values()):
            if branch.status is not Status.DONE and branch.visit:
                self.exit(execution, branch, outcome, None if outcome == "aborted" else closing.error)
            self.drop(execution, branch)

    def _moving(self, execution: LiveExecution, branch: Branch, move: Callable[[], None]) -> None:
        """Make `move`, turn its StateError into the branch's failure, then go on to where all wait."""
        try:
            self._guarded(execution, branch, move)
            while execution.todo:
                branch, step = execution.todo.pop(0)
                if not branch.gone:
                    self._advance(execution, branch, step)
        except _HistoryFull:
            cause = f"The execution reached the maximum number of history events ({HISTORY_LIMIT})."
            self._break_off(execution, cause)
        except Exception as error:  # noqa: BLE001 - a mistake of ours must end this execution, not hang it
            _log.exception("the execution %s cannot go on", execution.name)
            self._break_off(execution, f"internal error: {type(error).__name__}")

    def _break_off(self, execution: LiveExecution, cause: str) -> None:
        closing = Closing(ExecutionStatus.FAILED, self.host.now(), None, RUNTIME, cause)
        self.close(execution, closing, "failed")

    def _guarded(self, execution: LiveExecution, branch: Branch, move: Callable[[], None]) -> None:
        try:
            move()
        except StateError as error:
            self.failures.handle(execution, branch, error)

    # One branch on its way.

    def _advance(self, execution: LiveExecution, branch: Branch, step: Step) -> None:
        if step.next is None:
            self._end(execution, branch, step)
            return
        self._enter(execution, branch, execution.machine.states[step.next], step)
        self._guarded(execution, branch, lambda: self._try(execution, branch))

    def _enter(self, execution: LiveExecution, branch: Branch, state: State, step: Step) -> None:
        branch.state = state
        branch.data, branch.text = step.data, step.text
        branch.visit = execution.next_visit
        execution.next_visit += 1
        branch.entered_at = self.host.now()
        branch.retries = branch.redelivered = 0
        branch.tries = [0] * len(state.retriers) if isinstance(state, RetriableState) else []
        branch.items = []
        branch.transitions += 1
        execution.transitions += 1
        execution.touch(branch, self.host.serials)
        self.count(execution, branch, 1)  # StateEntered

    def _try(self, execution: LiveExecution, branch: Branch) -> None:
        """Do what the state does, up to its end or to a wait. Raises StateError."""
        state = branch.state
        execution.touch(branch, self.host.serials)
        branch.due = None
        branch.child = None
        match state:
            case TaskState():
                self.tasks.begin(execution, branch, state)
            case MapState():
                self.maps.begin(execution, branch, state)
            case WaitState():
                context = ContextSource(execution, branch)
                data = state.effective_input(branch.data, context)
                branch.status = Status.WAIT
                branch.due = self.host.now() + state.seconds(data, context)
            case _:
                self._pass_through(execution, branch, state)

    def _pass_through(self, execution: LiveExecution, branch: Branch, state: State) -> None:
        """The states that never wait."""
        context = ContextSource(execution, branch)
        if isinstance(state, FailState):
            raise StateError(state.error(branch.data, context), state.cause(branch.data, context))
        data = state.effective_input(branch.data, context)
        match state:
            case ChoiceState():
                target = next((goal for rule, goal in state.rules if rule(data, context)), state.default)
                if target is None:
                    raise StateError(
                        NO_CHOICE_MATCHED, f"No choice rule of {state.name!r} matches its input."
                    )
                self.leave(execution, branch, data, target)
            case PassState():
                result = data if state.parameters is None else state.parameters(data, context)
                placed = result if state.result_path is None else state.result_path(branch.data, result)
                self.leave(execution, branch, placed)
            case SucceedState():
                self.leave(execution, branch, data)
            case _:
                raise AssertionError(f"a state of no known type: {state!r}")

    def shape(self, execution: LiveExecution, branch: Branch, result: Any) -> Any:
        """ResultSelector and ResultPath of a Task or Map."""
        state = branch.state
        if not isinstance(state, RetriableState):
            raise AssertionError("only a Task or a Map has a result to shape")
        if state.result_selector is not None:
            result = state.result_selector(result, ContextSource(execution, branch))
        return result if state.result_path is None else state.result_path(branch.data, result)

    def leave(self, execution: LiveExecution, branch: Branch, data: Any, target: str | None = None) -> None:
        """Out of the state with `data`, which OutputPath still filters, on to `target` or Next."""
        state = branch.state
        output = state.effective_output(data, ContextSource(execution, branch))
        # Unchanged data needs no new text: most states pass on what they got.
        text = branch.text
        if output is not branch.data:
            text = json_data.state_text(output, state.name, "output")
        self.exit(execution, branch, "succeeded", None)
        self.count(execution, branch, 1)  # StateExited
        execution.todo.append((branch, Step(target or state.next, output, text)))

    def exit(self, execution: LiveExecution, branch: Branch, outcome: str, error: str | None) -> None:
        """Note the visit that ends here."""
        state = branch.state
        execution.visits.append(
            Visit(
                execution.id,
                branch.visit,
                state.name,
                state.type,
                branch.path,
                branch.entered_at,
                self.host.now(),
                outcome,
                error,
                branch.retries + branch.redelivered,
            )
        )
        branch.visit = 0

    def _end(self, execution: LiveExecution, branch: Branch, step: Step) -> None:
        if branch.parent is not None:
            self._guarded(execution, branch.parent, lambda: self.maps.iteration_done(execution, branch, step))
            return
        closing = Closing(ExecutionStatus.SUCCEEDED, self.host.now(), step.text)
        execution.events += 1  # ExecutionSucceeded, which may be the last event there is room for
        branch.events += 1
        self.close(execution, closing, "succeeded")

    def count(self, execution: LiveExecution, branch: Branch, events: int) -> None:
        """Count history events. Raises when the quota is reached."""
        branch.events += events
        execution.events += events
        if execution.events >= HISTORY_LIMIT:
            raise _HistoryFull

    def drop(self, execution: LiveExecution, branch: Branch) -> None:
        """Take a branch out of the execution, its counts into its parent's."""
        self.tasks.stop_child(execution, branch)
        if branch.parent is not None:
            branch.parent.events += branch.events
            branch.parent.transitions += branch.transitions
            branch.parent.children.pop(branch.index, None)
        branch.gone = True
        execution.branches.pop(branch.path, None)
        execution.touch(branch, self.host.serials)
