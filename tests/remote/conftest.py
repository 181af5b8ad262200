from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from parley.domain.agents import AgentFunction
from parley.tools.hosts import HostRules
from parley.tools.remote import RemoteFunctions
from parley.turns.function_ports import FunctionOutcome, RemoteCall
from tests.support.mcp_server import ToolServer, tool_server
from tests.support.wire_server import WireServer, wire_server

SECRET = "sk-0123456789"
MAYBE = " It may or may not have acted."
NOTHING = " Nothing was done."


class Elsewhere:
    """Functions that run elsewhere, in a project ``demo`` with one secret. ``slept`` are the pauses between tries."""

    def __init__(self, hosts: HostRules | None = None, lambdas: Any = None) -> None:
        self.settings = {"PARLEY_SECRET__demo__SHOP_KEY": SECRET, "OPENAI_API_KEY": "the installation's own"}
        self.slept: list[float] = []
        self.functions = RemoteFunctions(
            self.settings, hosts or HostRules.of("*"), lambda: lambdas, self.slept.append
        )

    def __call__(self, arguments: dict[str, Any] | None = None, *, seconds: float = 10, **who: str) -> Any:
        """The call of a function: what is said of it comes with ``.of``."""
        facts: dict[str, Any] = {
            "user_id": "ana",
            "project_id": "demo",
            "agent_id": "helper",
            "thread_id": "t-1",
            "idempotency_key": "key-1",
            **who,
        }
        return _Asked(self.functions, {"arguments": arguments or {}, "seconds": seconds, **facts})


class _Asked:
    def __init__(self, functions: RemoteFunctions, facts: dict[str, Any]) -> None:
        self._functions, self._facts = functions, facts

    def of(self, kind: str, **implementation: Any) -> FunctionOutcome:
        function = AgentFunction.model_validate(
            {"name": "shop", "implementation": {"kind": kind, **implementation}}
        )
        made: Any = function.implementation
        return self._functions.call(RemoteCall(name="shop", implementation=made, **self._facts))


@pytest.fixture
def elsewhere() -> Callable[..., Any]:
    return Elsewhere()


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as running:
        yield running


@pytest.fixture(scope="module")
def shared_tools() -> Iterator[ToolServer]:
    with tool_server() as running:
        yield running


@pytest.fixture
def tools(shared_tools: ToolServer) -> Iterator[ToolServer]:
    shared_tools.headers.clear()
    shared_tools.ordered.clear()
    shared_tools.hold.clear()
    shared_tools.held.clear()
    shared_tools.token = None
    yield shared_tools
    shared_tools.hold.set()
