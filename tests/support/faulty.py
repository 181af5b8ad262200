"""Workers that die or stall at any store call, signals that are lost, late or doubled: all at command."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from parley.domain.agents import AgentFunction
from parley.prompts.prompt import Prompt
from parley.turns.function_ports import FunctionCall, FunctionOutcome, FunctionSpec, RemoteCall
from parley.turns.model_ports import (
    Delta,
    Finish,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallStart,
)
from parley.turns.ports import ExecutionStatus, Index, Item, Started, StateVisit, Store
from tests.support.models import Model
from tests.support.stepper import Stepper
from tests.support.waiting import PATIENCE

T = TypeVar("T")


class Died(BaseException):
    """The worker is gone: no code of ours may catch this."""


@dataclass(frozen=True)
class Fault:
    """At the ``call``-th store call, or just behind it, the worker dies or stalls."""

    kind: Literal["dies", "stalls"]
    call: int
    behind: bool


class Zombie:
    """A piece of work in a thread of its own, which stalls until it is told to go on."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: BaseException | None = None
        self.stalled = False
        self._work = work
        self._told = threading.Event()
        self._go_on = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Run until it stalls or ends."""
        self._thread.start()
        self._wait()

    def stall(self) -> None:
        """Called in its thread."""
        self.stalled = True
        self._told.set()
        assert self._go_on.wait(PATIENCE)

    def go_on(self) -> None:
        """Let it run to its end. What it answers, nobody hears."""
        self._told.clear()
        self.stalled = False
        self._go_on.set()
        self._wait()

    def _wait(self) -> None:
        assert self._told.wait(PATIENCE)

    def _run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:  # noqa: BLE001 - told to whoever started it
            self.error = error
        finally:
            self._told.set()


class FaultyStore:
    """A Store that has its worker die or stall. ``arm`` is for the work that is begun next."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self._armed = threading.local()

    def arm(self, fault: Fault | None, zombie: Zombie | None = None) -> None:
        """From now on this thread's calls are counted."""
        self._armed.fault, self._armed.zombie, self._armed.calls = fault, zombie, 0

    def get(self, partition: str, sort: str) -> Item | None:
        return self._call(lambda: self.inner.get(partition, sort))

    def put(self, item: Item, *, if_version: int | None) -> Item:
        return self._call(lambda: self.inner.put(item, if_version=if_version))

    def query(self, partition: str, prefix: str, **options: Any) -> list[Item]:
        return self._call(lambda: self.inner.query(partition, prefix, **options))

    def query_index(self, index: Index, partition: str, **options: Any) -> list[Item]:
        return self._call(lambda: self.inner.query_index(index, partition, **options))

    def delete(self, partition: str, sort: str, *, if_version: int | None = None) -> None:
        self._call(lambda: self.inner.delete(partition, sort, if_version=if_version))

    def _call(self, operation: Callable[[], T]) -> T:
        fault: Fault | None = getattr(self._armed, "fault", None)
        if fault is None:
            return operation()
        self._armed.calls += 1
        struck = self._armed.calls == fault.call
        if struck and not fault.behind:
            self._strike(fault)
        try:
            return operation()
        finally:
            if struck and fault.behind:
                self._strike(fault)

    def _strike(self, fault: Fault) -> None:
        zombie: Zombie | None = self._armed.zombie
        if fault.kind == "dies" or zombie is None:
            raise Died
        zombie.stall()


class FaultyOrchestrator:
    """Executions of a Stepper; signals wait in ``sent`` until the test delivers or drops them.

    A Task that answers its own token is heard at once: were that lost, its function would have failed.
    """

    def __init__(self, stepper: Stepper) -> None:
        self.stepper = stepper
        self.sent: list[tuple[str, Any]] = []
        self.own_token: str | None = None

    def start(self, name: str, payload: dict[str, Any]) -> Started:
        self.sent.append(("start", (name, payload)))
        known = self.stepper.executions.get(name)
        if known is None:
            return Started.STARTED
        return Started.RUNNING if known.status is ExecutionStatus.RUNNING else Started.CLOSED

    def wake(self, token: str) -> bool:
        if token == self.own_token:
            return self.stepper.wake(token)
        self.sent.append(("wake", token))
        return self.stepper.waiting(token) is not None

    def deliver(self, signal: tuple[str, Any]) -> None:
        """Let a signal arrive."""
        kind, what = signal
        if kind == "start":
            self.stepper.start(*what)
        else:
            self.stepper.wake(what)

    def status(self, name: str) -> ExecutionStatus | None:
        known = self.stepper.executions.get(name)
        return known.status if known else None

    def history(self, name: str) -> list[StateVisit]:
        return []

    def stop(self, name: str, cause: str) -> None:
        if name in self.stepper.executions:
            self.stepper.stop(name)


CALLS = {"act": ("note", "refund", "refund"), "ask": ("help", "refund"), "deep": ("deeper", "deeper")}
"""What the model calls when a message begins with the word. Handed on, "ask" becomes "act" and "deep" "ask"."""


class TalkingProvider(Model):
    """A model that calls what ``CALLS`` says when the last message does, and talks otherwise."""

    name = "talking"

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        said = max(place for place, message in enumerate(prompt.messages) if message.role == "user")
        content = prompt.messages[said].content
        calls = CALLS.get(content.split(" ")[0], ())
        if calls and said == len(prompt.messages) - 1:
            for index, name in enumerate(calls):
                yield ToolCallStart(index, name)
                yield ToolArgumentsDelta(index, "{}")
            yield Finish("tool_calls")
        else:
            yield TextDelta(f"answer to {content}")
            yield Finish("stop")


class OutsideSystem:
    """Functions that act on the world. ``done`` counts calls per class and idempotency key."""

    def __init__(self) -> None:
        self.done: Counter[tuple[str, str]] = Counter()

    def call(self, call: FunctionCall | RemoteCall) -> FunctionOutcome:
        assert isinstance(call, FunctionCall)
        self.done[call.class_name, call.idempotency_key] += 1
        return FunctionOutcome(f"{call.class_name} done")

    def fault(self, function: AgentFunction, arguments: dict[str, Any]) -> str | None:
        return None

    def settled(self, project_id: str, functions: Sequence[AgentFunction]) -> tuple[AgentFunction, ...]:
        return tuple(functions)

    def prompt_context(self, class_names: Iterable[str], **who: str) -> list[str]:
        return []

    def spec(self, class_name: str) -> FunctionSpec | None:
        return FunctionSpec(
            class_name, "", {"type": "object", "properties": {}}, class_name == "refund", None
        )


class NobodyListens:
    """A Pusher without connections."""

    def post(self, connection_id: str, frame: str) -> None:
        raise AssertionError("nobody subscribed")
