"""Who works on a conversation at a test's command: each step, each signal and each death when the test says so."""

from __future__ import annotations

from typing import Any

from on_task.dispatch import handler
from parley.clock import MovableClock
from parley.turns.ports import Store
from tests.support.branches import READY
from tests.support.faulty import Died, Fault, FaultyOrchestrator, FaultyStore, Zombie
from tests.support.stepper import Stepper, TaskFailed


class Workers:
    """``fault`` is what happens to the next Task's function. ``zombies``: those that stalled and were given up."""

    def __init__(self, store: Store, clock: MovableClock) -> None:
        self.clock = clock
        self.store = FaultyStore(store)
        self.stepper = Stepper(self.invoke, clock)
        self.orchestrator = FaultyOrchestrator(self.stepper)
        self.fault: Fault | None = None
        self.zombies: list[Zombie] = []

    def invoke(self, payload: dict[str, Any]) -> Any:
        """A Task's function; ``fault`` is what happens to it."""
        fault, self.fault = self.fault, None
        self.orchestrator.own_token = payload.get("token")

        def work() -> Any:
            self.store.arm(fault, zombie)
            return handler(payload, None)

        zombie: Zombie | None = None
        if fault is None or fault.kind == "dies":
            return self._dying(work)
        zombie = Zombie(work)
        zombie.start()
        self.orchestrator.own_token = None
        if zombie.stalled:
            self.zombies.append(zombie)
            raise TaskFailed("Sandbox.Timedout")
        if zombie.error is not None:
            raise zombie.error
        return zombie.result

    def _dying(self, work: Any) -> Any:
        try:
            return work()
        except Died:
            raise TaskFailed("Runtime.ExitError") from None
        finally:
            self.orchestrator.own_token = None
            self.store.arm(None)

    def guarded(self, fault: Fault | None, request: Any) -> Any:
        """A request of a client; None if its worker died on it."""
        self.store.arm(fault)
        try:
            return request()
        except Died:
            return None
        finally:
            self.store.arm(None)

    def step(self, which: int = 0, fault: Fault | None = None) -> None:
        for signal in self.take_signals():
            self.orchestrator.deliver(signal)
        if ready := self.stepper.ready():
            branch = ready[which % len(ready)]
            while fault and branch.status == READY and not self.stepper.at_task(branch):
                self.stepper.step(branch)
            self.fault = fault
            if branch.status == READY:
                self.stepper.step(branch)
            self.fault = None

    def take_signals(self) -> list[tuple[str, Any]]:
        taken, self.orchestrator.sent = self.orchestrator.sent, []
        return taken

    def time_passes(self, seconds: float) -> None:
        """Timers that are due fire."""
        self.clock.advance(seconds)
        self.stepper.fire_timers()

    def work(self) -> None:
        """Deliver every signal and run every Task, until there is nothing more to do now."""
        for _ in range(1_000):
            if not self.orchestrator.sent and not self.stepper.ready():
                return
            self.step()
        raise AssertionError(f"it never ends\n{self.where()}")

    def where(self) -> str:
        """What every execution has entered last, for a test that failed."""
        lines = [f"{e.name} {e.status} {e.entered[-8:]}" for e in self.stepper.executions.values()]
        return "\n".join(lines)
