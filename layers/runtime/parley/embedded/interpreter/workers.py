"""Workers: who runs a claimed Task, what becomes of its outcome, and the answers to task tokens.

Owns the set of claims that a living worker of this process holds; every other claim is an orphan.
"""

import functools
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from parley.domain.errors import StorageError
from parley.embedded.asl.definition import TaskState
from parley.embedded.interpreter import rows, tokens
from parley.embedded.interpreter.live import Branch, Claim, LiveExecution, Status
from parley.embedded.interpreter.tasks import lambda_result
from parley.embedded.interpreter.types import TaskTimedOut
from parley.embedded.interpreter.worker import Outcome, run_claim

if TYPE_CHECKING:
    from parley.embedded.interpreter.engine import Engine

_log = logging.getLogger(__name__)


class _Local(threading.local):
    """The claim this thread runs, and the one it goes on with after it."""

    claim: Claim | None = None
    following: Claim | None = None


class Workers:
    """The running of claims. `alive`: serials of the claims that are queued or running here."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._local = _Local()
        self.alive: set[int] = set()

    def work(self, claim: Claim) -> None:
        """Run a claim, and what follows it in the same execution, until it waits."""
        following: Claim | None = claim
        while following is not None and not self._engine.closing:
            following = self._run(following)
        if following is not None:
            self.alive.discard(following.serial)

    def _run(self, claim: Claim) -> Claim | None:
        local = self._local
        local.claim, local.following = claim, None
        outcome = None
        try:
            outcome = run_claim(self._engine.invoke, claim)
        except BaseException:  # noqa: BLE001 - a worker that dies must not take the thread along
            # The model of a worker that dies: nothing of this try is saved, its lease has to run out.
            _log.warning("a worker died in %s", claim.function, exc_info=True)
        local.claim = None
        following = self._take_following()
        if following is not None:  # the function answered its own token: the execution is already beyond it
            self.alive.discard(claim.serial)
            return following
        if outcome is None:
            self._engine.attempt(functools.partial(self._expire, claim))
            return None
        try:
            return self._conclude(claim, outcome)
        except StorageError as error:
            # The function has done its work: keep the claim, and save what it came to when the disk takes it.
            _log.debug("a result of %s could not be saved, it is tried again: %s", claim.function, error)
            self._engine.try_later(functools.partial(self._conclude_later, claim, outcome))
        except rows.Fenced:
            _log.warning("another interpreter has taken over an execution")
        return None

    def _conclude_later(self, claim: Claim, outcome: Outcome) -> None:
        following = self._conclude(claim, outcome)
        if following is not None:
            self.work(following)

    def _take_following(self) -> Claim | None:
        following, self._local.following = self._local.following, None
        return following

    def _conclude(self, claim: Claim, outcome: Outcome) -> Claim | None:
        with self._engine.cache.locked(claim.execution) as execution:
            branch = execution.branches.get(claim.path) if execution else None
            if execution is None or branch is None or branch.serial != claim.serial:
                self.alive.discard(claim.serial)
                return None  # too late: timed out, stopped or taken over
            effects = self._engine.move(execution, lambda: self._apply(execution, branch, outcome))
            self.alive.discard(claim.serial)
        return self._engine.settle(effects, keep=True)

    def _apply(self, execution: LiveExecution, branch: Branch, outcome: Outcome) -> None:
        state = branch.state
        if outcome.error is not None:
            self._engine.moves.fail(execution, branch, outcome.error, outcome.cause)
        elif isinstance(state, TaskState) and state.integration == "lambda_token":
            self._engine.moves.submitted(execution, branch)
        else:
            self._engine.moves.succeed(execution, branch, lambda_result(outcome.value), outcome.text)

    def _expire(self, claim: Claim) -> None:
        """The claim's worker is gone: look at it when its lease is over."""
        self.alive.discard(claim.serial)
        if self._engine.closing:
            return
        with self._engine.cache.locked(claim.execution) as execution:
            branch = execution.branches.get(claim.path) if execution else None
            if branch is not None and branch.serial == claim.serial:
                self._engine.wakes.rearm(claim.execution, branch)

    def answer(self, token: str, act: Callable[[LiveExecution, Branch], None]) -> None:
        """Use a task token: `act` is the move. Raises InvalidToken or TaskTimedOut."""
        target = tokens.read(self._engine.token_key, token)
        local = self._local
        with self._engine.cache.locked(target.execution) as execution:
            branch = execution.branches.get(target.path) if execution else None
            if execution is None or branch is None or not self._awaits(branch, target.attempt):
                effects = None
            else:
                effects = self._engine.move(execution, lambda: act(execution, branch))
        if effects is None:
            raise TaskTimedOut("the token was used, or its try is over")
        own = local.claim
        mine = own is not None and own.execution == target.execution and own.path == target.path
        kept = self._engine.settle(effects, keep=mine and local.following is None)
        if kept is not None:
            local.following = kept

    def _awaits(self, branch: Branch, attempt: int) -> bool:
        state = branch.state
        return (
            branch.status in (Status.TASK, Status.TOKEN)
            and branch.attempt == attempt
            and isinstance(state, TaskState)
            and state.integration == "lambda_token"
            and (branch.due is None or branch.due > self._engine.now())
        )
