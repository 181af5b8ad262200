"""Where the agent's functions lead in scenarios: an HTTP endpoint, a Lambda, an MCP server, a class that takes long."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from parley.aws import clients
from parley.aws.lambdas import LambdaFunctions
from parley.tools.function import Function, FunctionArguments
from parley.tools.hosts import HostRules
from parley.tools.registry import FunctionRegistry
from parley.tools.remote import RemoteFunctions
from parley.turns.function_ports import LambdaInvoker
from tests.support.backends import Account
from tests.support.mcp_server import ToolServer
from tests.support.systems import System
from tests.support.wire_server import WireServer, wire_server

SECRET = "sk-0123456789"
MAYBE = "It may or may not have acted."
ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {"item": {"type": "string", "minLength": 2}},
    "required": ["item"],
}


class Slow(Function):
    """Takes as long as a test wants."""

    name: ClassVar[str] = "slow"
    time_limit_seconds: ClassVar[int] = 200
    begun: ClassVar[threading.Event]
    end: ClassVar[threading.Event]

    class Arguments(FunctionArguments):
        pass

    def handle(self, arguments: Arguments) -> str:
        type(self).begun.set()
        type(self).end.wait(120)
        return "done"


class InProcess:
    """Lambda functions without AWS, for a laptop."""

    def __init__(self, handler: Callable[[Any], Any]) -> None:
        self._handler = handler

    def invoke(self, function: str, payload: bytes, seconds: float) -> bytes:
        return json.dumps(self._handler(json.loads(payload))).encode()


@dataclass
class Elsewhere:
    """What the agent's functions reach."""

    system: System
    http: WireServer
    tools: ToolServer
    events: list[Any] = field(default_factory=list)

    def put(self, *functions: Any, script: list[Any], **fields: Any) -> Any:
        """An agent ``talker`` by the HTTP API; the answer."""
        agent = {
            "agent_id": "talker",
            "name": "Talker",
            "provider": "scripted",
            "model": "demo",
            "settings": {"script": script},
            "functions": functions,
            **fields,
        }
        return self.system.request("PUT", self.system.of_project("/agents/talker"), body=agent)

    def by_http(self, name: str = "order", **fields: Any) -> dict[str, Any]:
        implementation = {"kind": "http", "url": f"{self.http.url}/orders", "secret": "SHOP_KEY"}
        return {
            "name": name,
            "description": "Orders.",
            "parameters": ITEM,
            "implementation": implementation,
            **fields,
        }

    def by_lambda(self, name: str = "count", **fields: Any) -> dict[str, Any]:
        implementation = {"kind": "lambda", "function": "orders"}
        return {"name": name, "parameters": ITEM, "implementation": implementation, **fields}

    def by_mcp(self, name: str, tool: str, **fields: Any) -> dict[str, Any]:
        return {
            "name": name,
            "implementation": {"kind": "mcp", "url": self.tools.url, "tool": tool},
            **fields,
        }

    def lambda_handler(self, event: Any) -> Any:
        self.events.append(event)
        if event["arguments"]["item"] == "closed":
            return {"content": "It is closed.", "ok": False}
        return {"content": f"Counted {event['arguments']['item']}.", "additional_data": {"count": 3}}


@contextmanager
def elsewhere_of(
    system: System, tools: ToolServer, account: Account | None, patches: pytest.MonkeyPatch
) -> Iterator[Elsewhere]:
    """``account``: AWS's, if that is the system's backend."""
    tools.ordered.clear()
    Slow.begun, Slow.end = threading.Event(), threading.Event()
    with wire_server() as running:
        there = Elsewhere(system, running, tools)
        lambdas: LambdaInvoker = InProcess(there.lambda_handler)
        if account is not None:
            tasks = account.aws.functions
            patches.setattr(
                account.aws,
                "functions",
                lambda name, event: there.lambda_handler(event) if name == "orders" else tasks(name, event),
            )
            lambdas = LambdaFunctions(
                lambda seconds: clients.lambdas(account.aws.session, seconds), system.clock.sleep
            )
        secrets = {f"PARLEY_SECRET__{system.project.replace('-', '_')}__SHOP_KEY": SECRET}
        remote = RemoteFunctions(secrets, HostRules.of("*"), lambda: lambdas, system.clock.sleep)
        functions = FunctionRegistry(system.runtime.store, system.clock, classes=(Slow,), remote=remote)
        system.change_runtime(functions=functions)
        yield there
        Slow.end.set()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}
