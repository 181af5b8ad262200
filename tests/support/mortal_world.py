"""A runtime all of whose ports are mortal, and the world outside, which outlives every worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

from parley.tools.function import Function
from parley.tools.registry import FunctionRegistry
from parley.turns.function_ports import FunctionOutcome
from parley.turns.runtime import Runtime
from tests.support.mortal import Fate, Mortal
from tests.support.mortal_models import MortalProviders, MortalPusher


@dataclass
class Outside:
    """``deliver`` takes frames; ``frames`` has them all. ``done`` counts how often each function ran, by class and key.

    ``tokens``: those that were ever answered.
    """

    deliver: Callable[[str, str], None]
    frames: list[tuple[str, str]] = field(default_factory=list)
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    tokens: set[str] = field(default_factory=set)


class MortalFunctions(Mortal):
    """Functions: what one did before its worker died is done."""

    def __init__(self, inner: Any, fate: Fate, world: Outside) -> None:
        super().__init__(inner, fate, "functions")
        self._world = world

    def call(self, call: Any) -> FunctionOutcome:
        def run() -> FunctionOutcome:
            outcome: FunctionOutcome = self._inner.call(call)
            self._world.done[call.class_name, call.idempotency_key] += 1
            return outcome

        return self._fate.call("functions", call.class_name, run)


class MortalOrchestrator(Mortal):
    """An Orchestrator; ``tokens`` are those that it was given."""

    def __init__(self, inner: Any, fate: Fate, world: Outside) -> None:
        super().__init__(inner, fate, "orchestrator", "start", "status", "history", "stop")
        self.tokens = world.tokens

    def wake(self, token: str) -> bool:
        self.tokens.add(token)
        return self._fate.call("orchestrator", "wake", lambda: bool(self._inner.wake(token)))


def mortal_runtime(
    inner: Runtime, fate: Fate, world: Outside, functions: tuple[type[Function], ...]
) -> Runtime:
    """``inner`` with every port mortal, and with these function classes."""
    store: Any = Mortal(inner.store, fate, "store", "get", "put", "query", "query_index", "delete")
    blobs: Any = Mortal(inner.blobs, fate, "blobs", "get", "put", "delete", "list_keys")
    pusher = MortalPusher(world.deliver, world.frames, fate)
    known = FunctionRegistry(store, inner.clock, classes=functions, blobs=blobs, image_makers=inner.providers)
    known.classes()
    return replace(
        inner,
        store=store,
        blobs=blobs,
        orchestrator=cast(Any, MortalOrchestrator(inner.orchestrator, fate, world)),
        pusher=pusher,
        providers=cast(Any, MortalProviders(inner.providers, fate, pusher)),
        functions=cast(Any, MortalFunctions(known, fate, world)),
    )
