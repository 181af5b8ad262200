"""What the interpreter does around the moves: one commit per move, and only then their effects.

Owns who may run which claim. Nothing outside the database happens before the commit that records it; a move
whose commit fails has not happened: the execution is read again from what was saved.
"""

import functools
import itertools
import logging
import threading
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from parley.embedded import interpreter_rows as rows
from parley.embedded import interpreter_tokens as tokens
from parley.embedded.asl import data as json_data
from parley.embedded.asl.definition import Machine, TaskState
from parley.embedded.asl.errors import TASK_FAILED, TIMEOUT
from parley.embedded.database import Database, StorageError
from parley.embedded.interpreter_cache import Cache
from parley.embedded.interpreter_live import Branch, Claim, Closing, LiveExecution, Status
from parley.embedded.interpreter_moves import Moves
from parley.embedded.interpreter_names import Names
from parley.embedded.interpreter_tasks import lambda_result, nested_cause, nested_result
from parley.embedded.interpreter_threads import Pool, TimedClock, Timers
from parley.embedded.interpreter_types import Execution, TaskTimedOut
from parley.embedded.interpreter_worker import Outcome, run_claim
from parley.turns.ports import ExecutionStatus

_log = logging.getLogger(__name__)
# How soon a timer tries again when the disk refused its commit, seconds.
_TRY_AGAIN = 1.0
_PARKED_IN_MEMORY = 4096


class Effects(NamedTuple):
    """What a committed move sets going."""

    execution: LiveExecution
    claims: list[Claim]
    begun: list[int]
    stopped: list[int]
    attached: list[Branch]


class _Local(threading.local):
    """The claim this thread runs, and the one it goes on with after it."""

    claim: Claim | None = None
    following: Claim | None = None


class Engine:
    """Executions in motion. Also the Host of the moves."""

    def __init__(
        self,
        database: Database,
        machines: dict[str, tuple[Machine, str]],
        invoke: Callable[[str, Any], Any],
        clock: TimedClock,
        *,
        workers: int,
        lease_seconds: float,
        on_closed: Callable[[Execution], None] | None,
    ) -> None:
        self.database = database
        self.lease_seconds = lease_seconds
        self.now = clock.now
        self.moves = Moves(self)
        self.names = Names(database, machines)
        self.cache = Cache(self._load, parked=_PARKED_IN_MEMORY)
        self.pool = Pool(workers, "parley-worker")
        self.timers = Timers(clock, self._fire)
        self.serials: itertools.count[int] = itertools.count(1)
        self.token_key = b""
        self.closing = False
        self._invoke = invoke
        self._on_closed = on_closed
        self._alive: set[int] = set()
        self._parents: dict[int, set[tuple[int, str]]] = {}
        self._parents_lock = threading.Lock()
        self._local = _Local()

    # The Host of the moves.

    def token(self, execution: LiveExecution, branch: Branch) -> str:
        """The task token of the branch's present try."""
        target = tokens.TokenFor(execution.id, branch.path, branch.attempt)
        return tokens.mint(self.token_key, target)

    def start_nested(self, execution: LiveExecution, machine: str, name: str, text: str) -> int:
        """Start an execution in the commit of this move, or find it running. Raises StateError."""
        found = self.names.reserve_nested(machine, name, text)
        if found is not None:
            return found
        compiled, definition = self.names.machines[machine]
        child = LiveExecution(next(self.serials), name, compiled, definition, text, self.now(), True, True)
        execution.started.append(child)
        return child.id

    # Moves and their effects.

    def move(self, execution: LiveExecution, action: Callable[[], None]) -> Effects:
        """Make a move and commit it. Call with the execution's lock held, `settle` after it is released.

        Raises StorageError or Fenced: nothing has happened then.
        """
        started = execution.started
        try:
            action()
            self.database.write(rows.save([execution, *started]))
        finally:
            self.names.release(child.name for child in started)
        effects = self._take_effects(execution)
        rows.saved(execution)
        if execution.closing is not None:
            self.cache.discard(execution)
        return effects

    def _take_effects(self, execution: LiveExecution) -> Effects:
        claims: list[Claim] = []
        attached: list[Branch] = []
        for branch in execution.touched:
            key = (execution.id, branch.path)
            if branch.gone:
                if branch.path not in execution.branches:
                    self.timers.disarm(key)
                continue
            if branch.due is not None:
                self.timers.arm(key, branch.due, branch.serial)
            elif branch.saved:
                self.timers.disarm(key)
            if branch.status is Status.TASK and branch.call is not None:
                claims.append(Claim(execution.id, branch.path, branch.serial, *branch.call))
                branch.call = None
                self._alive.add(branch.serial)
            elif branch.status is Status.NESTED and branch.child is not None:
                self.await_child(branch.child, execution.id, branch.path)
                attached.append(branch)
        self._arm_deadline(execution)
        begun = [child.id for child in execution.started]
        return Effects(execution, claims, begun, execution.to_stop, attached)

    def _arm_deadline(self, execution: LiveExecution) -> None:
        deadline = execution.deadline()
        if deadline is None:
            return
        if execution.closing is not None:
            self.timers.disarm((execution.id, None))
        elif execution.is_new:
            self.timers.arm((execution.id, None), deadline, 0)

    def settle(self, effects: Effects, *, keep: bool = False) -> Claim | None:
        """Set a committed move's effects going. With `keep`, the first claim is returned for this thread."""
        execution = effects.execution
        for child in effects.begun:
            self.submit(functools.partial(self.begin, child))
        for branch in effects.attached:
            if branch.child not in effects.begun:  # it may have closed before we were listed as waiting
                self.submit(functools.partial(self.nested_closed, execution.id, branch.path))
        for child in effects.stopped:
            self.submit(functools.partial(self.stop, child, "", "The parent no longer waits for it."))
        if execution.closing is not None:
            self._announce(execution, execution.closing)
        kept: Claim | None = None
        for claim in effects.claims:
            if keep and kept is None:
                kept = claim
            else:
                self.pool.submit(functools.partial(self.work, claim))
        if not effects.claims and execution.closing is None:
            self.cache.park(execution.id)
        return kept

    def _announce(self, execution: LiveExecution, closing: Closing) -> None:
        with self._parents_lock:
            parents = self._parents.pop(execution.id, set())
        for parent, path in parents:
            self.submit(functools.partial(self.nested_closed, parent, path))
        if self._on_closed is not None:
            record = Execution(
                execution.name,
                execution.machine.id,
                closing.status,
                execution.input,
                execution.started_at,
                closing.at,
                closing.output,
                closing.error,
                closing.cause,
                execution.transitions,
                execution.events,
            )
            self.pool.submit(functools.partial(self._on_closed, record))

    def await_child(self, child: int, parent: int, path: str) -> None:
        """Wake the parent's branch when the child closes."""
        with self._parents_lock:
            self._parents.setdefault(child, set()).add((parent, path))

    # Workers.

    def work(self, claim: Claim) -> None:
        """Run a claim, and what follows it in the same execution, until it waits."""
        following: Claim | None = claim
        while following is not None and not self.closing:
            following = self._run(following)
        if following is not None:
            self._alive.discard(following.serial)

    def _run(self, claim: Claim) -> Claim | None:
        local = self._local
        local.claim, local.following = claim, None
        outcome = None
        try:
            outcome = run_claim(self._invoke, claim)
        except BaseException:
            # The model of a worker that dies: nothing of this try is saved, its lease has to run out.
            _log.warning("a worker died in %s", claim.function, exc_info=True)
        following, local.claim, local.following = local.following, None, None
        self._alive.discard(claim.serial)
        if following is not None:  # the function answered its own token: the execution is already beyond it
            return following
        if outcome is None:
            self._expire(claim)
            return None
        try:
            return self._conclude(claim, outcome)
        except StorageError:
            _log.exception("the result of %s could not be saved", claim.function)
            self._expire(claim)
        except rows.Fenced:
            _log.warning("another interpreter has taken over an execution")
        return None

    def _conclude(self, claim: Claim, outcome: Outcome) -> Claim | None:
        with self.cache.locked(claim.execution) as execution:
            branch = execution.branches.get(claim.path) if execution else None
            if execution is None or branch is None or branch.serial != claim.serial:
                return None  # too late: timed out, stopped or taken over
            effects = self.move(execution, lambda: self._apply(execution, branch, outcome))
        return self.settle(effects, keep=True)

    def _apply(self, execution: LiveExecution, branch: Branch, outcome: Outcome) -> None:
        state = branch.state
        if outcome.error is not None:
            self.moves.fail(execution, branch, outcome.error, outcome.cause)
        elif isinstance(state, TaskState) and state.integration == "lambda_token":
            self.moves.submitted(execution, branch)
        else:
            self.moves.succeed(execution, branch, lambda_result(outcome.value), outcome.text)

    def _expire(self, claim: Claim) -> None:
        """The claim's worker is gone: look at it when its lease is over."""
        with self.cache.locked(claim.execution) as execution:
            branch = execution.branches.get(claim.path) if execution else None
            if branch is not None and branch.serial == claim.serial:
                self._rearm(claim.execution, branch)

    def _rearm(self, execution_id: int, branch: Branch) -> None:
        times = [branch.due] if branch.due is not None else []
        if branch.status is Status.TASK and branch.serial not in self._alive:
            times.append(branch.lease_until)
        if times:
            self.timers.arm((execution_id, branch.path), min(times), branch.serial)

    # Signals.

    def answer(self, token: str, act: Callable[[LiveExecution, Branch], None]) -> None:
        """Use a task token: `act` is the move. Raises InvalidToken or TaskTimedOut."""
        target = tokens.read(self.token_key, token)
        local = self._local
        with self.cache.locked(target.execution) as execution:
            branch = execution.branches.get(target.path) if execution else None
            if execution is None or branch is None or not self._awaits(branch, target.attempt):
                effects = None
            else:
                effects = self.move(execution, lambda: act(execution, branch))
        if effects is None:
            raise TaskTimedOut("the token was used, or its try is over")
        own = local.claim
        mine = own is not None and own.execution == target.execution and own.path == target.path
        kept = self.settle(effects, keep=mine and local.following is None)
        if kept is not None:
            local.following = kept

    def _awaits(self, branch: Branch, attempt: int) -> bool:
        state = branch.state
        return (
            branch.status in (Status.TASK, Status.TOKEN)
            and branch.attempt == attempt
            and isinstance(state, TaskState)
            and state.integration == "lambda_token"
            and (branch.due is None or branch.due > self.now())
        )

    def begin(self, execution_id: int) -> None:
        """Bring an execution that was only recorded to its first wait."""
        with self.cache.locked(execution_id) as execution:
            if execution is None or execution.branches:
                return
            data = json_data.decode(execution.input)
            effects = self.move(execution, lambda: self.moves.begin(execution, data))
        self._go_on(effects)

    def redeliver(self, execution_id: int, path: str, serial: int) -> None:
        """Hand out again a claim whose owner is gone."""
        with self.cache.locked(execution_id) as execution:
            branch = execution.branches.get(path) if execution else None
            if execution is None or branch is None or branch.serial != serial:
                return
            effects = self.move(execution, lambda: self.moves.redeliver(execution, branch))
        self._go_on(effects)

    def _go_on(self, effects: Effects) -> None:
        claim = self.settle(effects, keep=True)
        if claim is not None:
            self.work(claim)

    def submit(self, job: Callable[[], None]) -> None:
        """Have a worker do `job`, again and again while the disk refuses it."""
        self.pool.submit(functools.partial(self._persist, job))

    def _persist(self, job: Callable[[], None]) -> None:
        try:
            job()
        except StorageError:
            _log.exception("the database refused a change; it is tried again")
            self.timers.arm(job, self.now() + _TRY_AGAIN, 0)
        except rows.Fenced:
            _log.warning("another interpreter has taken over an execution")

    def stop(self, execution_id: int, error: str, cause: str) -> None:
        """Abort a running execution, and with it what it nests; nothing if it is closed."""
        self._close(execution_id, ExecutionStatus.ABORTED, error, cause, "aborted")

    def _close(
        self, execution_id: int, status: ExecutionStatus, error: str, cause: str, outcome: str
    ) -> None:
        with self.cache.locked(execution_id) as execution:
            if execution is None:
                return
            closing = Closing(status, self.now(), None, error or None, cause or None)
            effects = self.move(execution, lambda: self.moves.close(execution, closing, outcome))
        self.settle(effects)

    def nested_closed(self, parent: int, path: str) -> None:
        """See whether the execution that this branch waits for has closed, and go on if so."""
        with self.cache.locked(parent) as execution:
            branch = execution.branches.get(path) if execution else None
            if execution is None or branch is None or branch.child is None:
                return
            found = self.database.read(functools.partial(rows.describe_by_id, execution_id=branch.child))
            if found is None or found[1].status is ExecutionStatus.RUNNING:
                return
            effects = self.move(execution, lambda: self._child_closed(execution, branch, found[1]))
        self._go_on(effects)

    def _child_closed(self, execution: LiveExecution, branch: Branch, child: Execution) -> None:
        branch.child = None
        if child.status is ExecutionStatus.SUCCEEDED:
            self.moves.succeed(execution, branch, nested_result(child), child.output or "")
        else:
            self.moves.fail(execution, branch, TASK_FAILED, nested_cause(child))

    # Timers.

    def _fire(self, key: Hashable, serial: int) -> None:
        if callable(key):
            self.submit(key)
            return
        execution_id, path = key  # type: ignore[misc] - our own keys
        try:
            if path is None:
                self._close(execution_id, ExecutionStatus.TIMED_OUT, TIMEOUT, "", "timed_out")
            else:
                self._fire_branch(execution_id, path, serial)
        except StorageError:
            _log.exception("a timer could not be saved; it is tried again")
            self.timers.arm(key, self.now() + _TRY_AGAIN, serial)
        except rows.Fenced:
            _log.warning("another interpreter has taken over an execution")

    def _fire_branch(self, execution_id: int, path: str, serial: int) -> None:
        with self.cache.locked(execution_id) as execution:
            branch = execution.branches.get(path) if execution else None
            if execution is None or branch is None or branch.serial != serial:
                return
            action = self._due_move(execution, branch)
            if action is None:
                self._rearm(execution_id, branch)
                return
            effects = self.move(execution, action)
        self.settle(effects)

    def _due_move(self, execution: LiveExecution, branch: Branch) -> Callable[[], None] | None:
        now = self.now()
        if branch.due is not None and branch.due <= now:
            if branch.status is Status.WAIT:
                return lambda: self.moves.waited(execution, branch)
            if branch.status is Status.RETRY:
                return lambda: self.moves.retry(execution, branch)
            return lambda: self.moves.fail(execution, branch, TIMEOUT, "")
        orphaned = branch.status is Status.TASK and branch.serial not in self._alive
        if orphaned and branch.lease_until <= now:
            return lambda: self.moves.redeliver(execution, branch)
        return None

    def _load(self, execution_id: int) -> LiveExecution | None:
        return self.database.read(
            lambda connection: rows.load(connection, execution_id, self.names.machine_of)
        )
