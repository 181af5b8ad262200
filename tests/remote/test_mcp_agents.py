"""Agents that are put with functions of MCP servers: what the servers tell of their tools is kept."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parley.domain.agents import AgentFunction
from parley.domain.errors import InvalidRequest
from parley.domain.remote_functions import McpFunction
from parley.tools import tool_lists
from parley.tools.answers import Unanswered
from parley.tools.hosts import HostRules
from parley.tools.mcp_calls import Tool
from parley.tools.remote import RemoteFunctions
from parley.tools.settling import settle_functions
from tests.remote.conftest import SECRET, Elsewhere
from tests.support.mcp_server import ToolServer


def mcp(name: str, tools: ToolServer, tool: str, **facts: object) -> AgentFunction:
    implementation = {"kind": "mcp", "url": tools.url, "tool": tool, **facts.pop("with_", {})}  # type: ignore[dict-item]
    return AgentFunction.model_validate({"name": name, "implementation": implementation, **facts})


def test_what_an_agent_does_not_say_of_a_tool_comes_from_the_server(
    tools: ToolServer, elsewhere: Elsewhere
) -> None:
    functions = [mcp("weather", tools, "weather"), mcp("order", tools, "order", description="Mine.")]
    weather, order = settle_functions(functions, "demo", elsewhere.functions)
    assert weather.description == "Tells the weather of a city."
    assert weather.parameters is not None
    assert weather.parameters["properties"]["city"]["type"] == "string"
    assert weather.parameters["required"] == ["city"]
    assert weather.requires_user_confirmation is False
    assert order.description == "Mine."
    assert order.requires_user_confirmation is True
    lists = [headers for headers in tools.headers if headers.get("mcp-method") == "tools/list"]
    assert len(lists) <= 1, "one question to one server"


def test_an_agent_that_says_everything_itself_needs_no_server(elsewhere: Elsewhere) -> None:
    told = {"description": "d", "parameters": {"type": "object"}, "requires_user_confirmation": False}
    nowhere = ToolServer("https://nowhere.example.com/mcp")
    function = mcp("weather", nowhere, "weather", **told)
    assert settle_functions([function], "demo", elsewhere.functions) == (function,)


def test_all_tools_of_a_server_come_at_once_and_what_changes_something_asks_first(
    tools: ToolServer, elsewhere: Elsewhere
) -> None:
    mine = mcp("orderTea", tools, "order", requires_user_confirmation=False)
    functions = settle_functions([mine, mcp("shop", tools, "*")], "demo", elsewhere.functions)
    asks = {function.name: function.requires_user_confirmation for function in functions}
    assert asks == {
        "orderTea": False,
        "shop_weather": False,
        "shop_files_delete_all": True,
        "shop_refuse": False,
        "shop_crash": False,
        "shop_show": False,
        "shop_large": False,
        "shop_routed": False,
        "shop_wait": False,
    }
    assert functions[2].implementation.tool == "files/delete.all"  # type: ignore[union-attr]
    assert all(function.description and function.parameters for function in functions)


def _no_lambdas() -> Any:
    raise AssertionError("no Lambda is wanted")


def _no_sleep(seconds: float) -> None:
    raise AssertionError("nothing is tried again")


@pytest.mark.parametrize("name", ["prüfen", "", "a\nb", "x" * 129])
def test_a_tool_whose_name_no_agent_can_keep_refuses_the_agent(tools: ToolServer, name: str) -> None:
    class Server(RemoteFunctions):
        def tools(self, project_id: str, function: McpFunction) -> list[Tool]:
            return [Tool("fine", "", {}, True), Tool(name, "", {}, True)]

    remote = Server({}, HostRules.of("*"), _no_lambdas, _no_sleep)
    shown = re.escape(repr(name[:60]))
    with pytest.raises(
        InvalidRequest, match=f"functions: shop: its MCP server has a tool {shown}, which cannot"
    ):
        settle_functions([mcp("shop", tools, "*")], "demo", remote)


def test_a_tool_that_is_not_there_is_refused_with_those_that_are(
    tools: ToolServer, elsewhere: Elsewhere
) -> None:
    with pytest.raises(
        InvalidRequest, match=r"functions: wether: its MCP server has no tool wether; it has weather,"
    ):
        settle_functions([mcp("wether", tools, "wether")], "demo", elsewhere.functions)


def test_a_server_that_does_not_answer_refuses_the_agent(elsewhere: Elsewhere, tools: ToolServer) -> None:
    tools.token = SECRET
    with pytest.raises(InvalidRequest, match="functions: weather: its MCP server answered 401"):
        settle_functions([mcp("weather", tools, "weather")], "demo", elsewhere.functions)
    missing = mcp("weather", tools, "weather", with_={"secret": "OTHER_KEY"})
    with pytest.raises(InvalidRequest, match="set PARLEY_SECRET__demo__OTHER_KEY"):
        settle_functions([missing], "demo", elsewhere.functions)


class Servers(RemoteFunctions):
    """MCP servers by address, each what it does when it is asked for its tools."""

    def __init__(self, **does: Callable[[], list[Tool]]) -> None:
        super().__init__({}, HostRules.of("*"), _no_lambdas, _no_sleep)
        self._does = does

    def tools(self, project_id: str, function: McpFunction) -> list[Tool]:
        return self._does[function.url.removeprefix("http://")]()


def _silent() -> list[Tool]:
    raise Unanswered("did not answer within 8 s")


def test_all_servers_are_asked_at_the_same_time_and_each_that_does_not_tell_is_named() -> None:
    together = threading.Barrier(2)

    def meets() -> list[Tool]:
        together.wait(120)
        return [Tool("look", "Looks.", {}, True)]

    def function(name: str, server: str) -> AgentFunction:
        return mcp(name, ToolServer(f"http://{server}"), "look")

    both = [function("a", "one"), function("b", "two")]
    settled = settle_functions(both, "demo", Servers(one=meets, two=meets))
    assert [each.description for each in settled] == ["Looks.", "Looks."]
    servers = Servers(one=_silent, two=list, three=_silent)
    wanted = [function(name, server) for name, server in (("a", "one"), ("b", "two"), ("c", "three"))]
    words = (
        "functions: a: its MCP server did not answer within 8 s; c: its MCP server did not answer within 8 s."
    )
    with pytest.raises(InvalidRequest, match=re.escape(words)):
        settle_functions(wanted, "demo", servers)


def test_a_server_whose_name_is_looked_up_for_ever_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_lists, "LIST_SECONDS", 0.05)
    monkeypatch.setattr(tool_lists, "_GRACE", 0.0)
    over = threading.Event()
    servers = Servers(one=lambda: [] if over.wait(60) else _silent())
    try:
        with pytest.raises(
            InvalidRequest, match=r"functions: a: its MCP server did not answer within 0\.05 s"
        ):
            settle_functions([mcp("a", ToolServer("http://one"), "look")], "demo", servers)
    finally:
        over.set()


def test_an_address_against_the_rules_refuses_the_agent(tools: ToolServer, tmp_path: Path) -> None:
    strict = Elsewhere(HostRules.of("public")).functions
    with pytest.raises(InvalidRequest, match="functions: weather: its address must be reached by https here"):
        settle_functions([mcp("weather", tools, "weather")], "demo", strict)
    assert tools.headers == []
