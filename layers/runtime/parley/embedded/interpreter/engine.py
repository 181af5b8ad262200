"""What the interpreter does around the moves: one commit per move, and only then their effects.

Owns who may run which claim. Nothing outside the database happens before the commit that records it; a move
whose commit fails has not happened: the execution is read again from what was saved.
"""

import functools
import itertools
import logging
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from parley.domain.errors import StorageError
from parley.embedded.asl.definition import Machine
from parley.embedded.database import Database
from parley.embedded.interpreter import rows, tokens
from parley.embedded.interpreter.cache import Cache
from parley.embedded.interpreter.live import Branch, BranchKey, Claim, Closing, LiveExecution, Status
from parley.embedded.interpreter.moves import Moves
from parley.embedded.interpreter.names import Names
from parley.embedded.interpreter.threads import Pool, TimedClock, Timers
from parley.embedded.interpreter.types import Execution
from parley.embedded.interpreter.wakes import Wakes
from parley.embedded.interpreter.workers import Workers

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
        self.workers = Workers(self)
        self.wakes = Wakes(self)
        self.timers = Timers(clock, self.wakes.fire)
        self.serials: itertools.count[int] = itertools.count(1)
        self.token_key = b""
        self.closing = False  # no more claims are begun
        self.invoke = invoke
        self._on_closed = on_closed
        self._parents: dict[int, set[tuple[int, str]]] = {}
        self._parents_lock = threading.Lock()

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
            if started:
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
            key = BranchKey(execution.id, branch.path)
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
                self.workers.alive.add(branch.serial)
            elif branch.status is Status.NESTED and branch.child is not None:
                self.await_child(branch.child, execution.id, branch.path)
                attached.append(branch)
        for one in (execution, *execution.started):
            self._arm_deadline(one)
        begun = [child.id for child in execution.started]
        return Effects(execution, claims, begun, execution.to_stop, attached)

    def _arm_deadline(self, execution: LiveExecution) -> None:
        deadline = execution.deadline()
        if deadline is None:
            return
        if execution.closing is not None:
            self.timers.disarm(BranchKey(execution.id, None))
        elif execution.is_new:
            self.timers.arm(BranchKey(execution.id, None), deadline, 0)

    def settle(self, effects: Effects, *, keep: bool = False) -> Claim | None:
        """Set a committed move's effects going. With `keep`, the first claim is returned for this thread."""
        execution = effects.execution
        for child in effects.begun:
            self.submit(functools.partial(self.wakes.begin, child))
        for branch in effects.attached:
            if branch.child not in effects.begun:  # it may have closed before we were listed as waiting
                self.submit(functools.partial(self.wakes.nested_closed, execution.id, branch.path))
        for child in effects.stopped:
            self.submit(functools.partial(self.wakes.stop, child, "", "The parent no longer waits for it."))
        if execution.closing is not None:
            self._announce(execution, execution.closing)
        kept: Claim | None = None
        for claim in effects.claims:
            if keep and kept is None:
                kept = claim
            else:
                self.pool.submit(functools.partial(self.workers.work, claim))
        if not effects.claims and execution.closing is None:
            self.cache.park(execution.id)
        return kept

    def _announce(self, execution: LiveExecution, closing: Closing) -> None:
        with self._parents_lock:
            parents = self._parents.pop(execution.id, set())
        for parent, path in parents:
            self.submit(functools.partial(self.wakes.nested_closed, parent, path))
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

    def submit(self, job: Callable[[], None]) -> None:
        """Have a worker do `job`, again and again while the disk refuses it."""
        self.pool.submit(functools.partial(self.attempt, job))

    def try_later(self, job: Callable[[], None]) -> None:
        """Have a worker do `job` in a moment: the disk refuses it now."""
        self.timers.arm(job, self.now() + _TRY_AGAIN, 0)

    def attempt(self, job: Callable[[], None]) -> None:
        """Do `job` here; if the disk refuses it, have it done later."""
        try:
            job()
        except StorageError as error:
            _log.debug(
                "a change could not be saved, it is tried again: %s", error
            )  # the database has said so
            self.try_later(job)
        except rows.Fenced:
            _log.warning("another interpreter has taken over an execution")

    def _load(self, execution_id: int) -> LiveExecution | None:
        return self.database.snapshot(
            lambda connection: rows.load(connection, execution_id, self.names.machine_of)
        )
