"""What wakes an execution that no worker runs: its start, a timer, the end of what it nests, a stop."""

import functools
import logging
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from parley.domain.errors import StorageError
from parley.embedded.asl import data as json_data
from parley.embedded.asl.errors import TASK_FAILED, TIMEOUT
from parley.embedded.interpreter import rows
from parley.embedded.interpreter.live import Branch, BranchKey, Closing, LiveExecution, Status
from parley.embedded.interpreter.tasks import nested_cause, nested_result
from parley.embedded.interpreter.types import Execution
from parley.turns.ports import ExecutionStatus

if TYPE_CHECKING:
    from parley.embedded.interpreter.engine import Effects, Engine

_log = logging.getLogger(__name__)
# How soon a timer tries again when the disk refused its commit, seconds.
_TRY_AGAIN = 1.0


class Wakes:
    """The wakes of executions."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    def begin(self, execution_id: int) -> None:
        """Bring an execution that was only recorded to its first wait."""
        with self._engine.cache.locked(execution_id) as execution:
            if execution is None or execution.branches:
                return
            data = json_data.decode(execution.input)
            effects = self._engine.move(execution, lambda: self._engine.moves.begin(execution, data))
        self._go_on(effects)

    def redeliver(self, execution_id: int, path: str, serial: int) -> None:
        """Hand out again a claim whose owner is gone."""
        with self._engine.cache.locked(execution_id) as execution:
            branch = execution.branches.get(path) if execution else None
            if execution is None or branch is None or branch.serial != serial:
                return
            effects = self._engine.move(execution, lambda: self._engine.moves.redeliver(execution, branch))
        self._go_on(effects)

    def _go_on(self, effects: "Effects") -> None:
        claim = self._engine.settle(effects, keep=True)
        if claim is not None:
            self._engine.workers.work(claim)

    def stop(self, execution_id: int, error: str, cause: str) -> None:
        """Abort a running execution, and with it what it nests; nothing if it is closed."""
        self._close(execution_id, ExecutionStatus.ABORTED, error, cause, "aborted")

    def _close(
        self, execution_id: int, status: ExecutionStatus, error: str, cause: str, outcome: str
    ) -> None:
        with self._engine.cache.locked(execution_id) as execution:
            if execution is None:
                return
            closing = Closing(status, self._engine.now(), None, error or None, cause or None)
            effects = self._engine.move(
                execution, lambda: self._engine.moves.close(execution, closing, outcome)
            )
        self._engine.settle(effects)

    def nested_closed(self, parent: int, path: str) -> None:
        """See whether the execution that this branch waits for has closed, and go on if so."""
        with self._engine.cache.locked(parent) as execution:
            branch = execution.branches.get(path) if execution else None
            if execution is None or branch is None or branch.child is None:
                return
            found = self._engine.database.snapshot(
                functools.partial(rows.describe_by_id, execution_id=branch.child)
            )
            if found is None or found[1].status is ExecutionStatus.RUNNING:
                return
            effects = self._engine.move(execution, lambda: self._child_closed(execution, branch, found[1]))
        self._go_on(effects)

    def _child_closed(self, execution: LiveExecution, branch: Branch, child: Execution) -> None:
        branch.child = None
        if child.status is ExecutionStatus.SUCCEEDED:
            result = nested_result(child)
            self._engine.moves.succeed(execution, branch, result, json_data.encode(result))
        else:
            self._engine.moves.fail(execution, branch, TASK_FAILED, nested_cause(child))

    def fire(self, key: Hashable, serial: int) -> None:
        """A timer is due: a branch's (void unless it still has that serial), an execution's, or a job's."""
        if callable(key):
            self._engine.submit(key)
            return
        if not isinstance(key, BranchKey):
            raise TypeError(f"no timer of ours: {key!r}")
        execution_id, path = key
        try:
            if path is None:  # the deadline of the whole execution
                self._close(execution_id, ExecutionStatus.TIMED_OUT, TIMEOUT, "", "timed_out")
            else:
                self._fire_branch(execution_id, path, serial)
        except StorageError as error:
            _log.debug("a timer could not be saved, it is tried again: %s", error)
            self._engine.timers.arm(key, self._engine.now() + _TRY_AGAIN, serial)
        except rows.Fenced:
            _log.warning("another interpreter has taken over an execution")

    def _fire_branch(self, execution_id: int, path: str, serial: int) -> None:
        with self._engine.cache.locked(execution_id) as execution:
            branch = execution.branches.get(path) if execution else None
            if execution is None or branch is None or branch.serial != serial:
                return
            action = self._due_move(execution, branch)
            if action is None:
                self.rearm(execution_id, branch)
                return
            effects = self._engine.move(execution, action)
        self._engine.settle(effects)

    def _due_move(self, execution: LiveExecution, branch: Branch) -> Callable[[], None] | None:
        now = self._engine.now()
        if branch.due is not None and branch.due <= now:
            if branch.status is Status.WAIT:
                return lambda: self._engine.moves.waited(execution, branch)
            if branch.status is Status.RETRY:
                return lambda: self._engine.moves.retry(execution, branch)
            return lambda: self._engine.moves.fail(execution, branch, TIMEOUT, "")
        orphaned = branch.status is Status.TASK and branch.serial not in self._engine.workers.alive
        if orphaned and branch.lease_until <= now:
            return lambda: self._engine.moves.redeliver(execution, branch)
        return None

    def rearm(self, execution_id: int, branch: Branch) -> None:
        """Look at the branch again when its wait, or an orphaned claim's lease, is over."""
        times = [branch.due] if branch.due is not None else []
        if branch.status is Status.TASK and branch.serial not in self._engine.workers.alive:
            times.append(branch.lease_until)
        if times:
            self._engine.timers.arm(BranchKey(execution_id, branch.path), min(times), branch.serial)
