"""`parley mcp`: the tools of an MCP server as functions of an agent.

The server of Parley asks the MCP server, for it is the one that will call it: this command need not reach it.
"""

from __future__ import annotations

import argparse
from typing import Any

from parley.cli.api import Api, segment
from parley.cli.failure import CommandFailed
from parley.cli.inspect import table
from parley.cli.servers import reached_server
from parley.cli.terminal import Terminal, clean
from parley.domain.remote_functions import EVERY_TOOL, name_of_tool

_Function = dict[str, Any]


def add_tools(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Add the server's tools that the agent does not have, and say which they are."""
    if twice := set(arguments.confirm) & set(arguments.no_confirm):
        raise CommandFailed(f"--confirm and --no-confirm both name {', '.join(sorted(twice))}", status=2)
    asks = dict.fromkeys(arguments.confirm, True) | dict.fromkeys(arguments.no_confirm, False)
    with reached_server(arguments) as api:
        agent = api.get(_agent(arguments))
        before = agent["functions"]
        tools = [_tool(function, arguments.server) for function in before]
        stays = [
            {**function, "requires_user_confirmation": asks[tool]} if tool in asks else function
            for function, tool in zip(before, tools, strict=True)
        ]
        added = [each for each in _wanted(arguments, asks) if _tool(each, arguments.server) not in tools]
        after = _put(api, arguments, agent, [*stays, *added])
    rows = [
        [
            function["name"],
            "asks first" if function["requires_user_confirmation"] else "runs at once",
            (function["description"] or "").partition("\n")[0],
        ]
        for function in after
        if function not in before
    ]
    if rows:
        table(terminal, ["function", "", "description"], rows)
    else:
        terminal.line(f"{clean(arguments.agent)} has these tools already; nothing was changed.")
    return 0


def remove_tools(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Remove every function of the server from the agent."""
    with reached_server(arguments) as api:
        agent = api.get(_agent(arguments))
        kept = [function for function in agent["functions"] if _tool(function, arguments.server) is None]
        removed = len(agent["functions"]) - len(kept)
        if not removed:
            raise CommandFailed(f"{arguments.agent} has no function of {arguments.server}")
        _put(api, arguments, agent, kept)
    terminal.line(f"removed {removed} {'function' if removed == 1 else 'functions'}")
    return 0


def _agent(arguments: argparse.Namespace) -> str:
    return f"/api/projects/{segment(arguments.project)}/agents/{segment(arguments.agent)}"


def _put(
    api: Api, arguments: argparse.Namespace, agent: dict[str, Any], functions: list[_Function]
) -> list[_Function]:
    """The agent with these functions; they, as they were kept."""
    kept: list[_Function] = api.put(_agent(arguments), {**agent, "functions": functions})["functions"]
    return kept


def _wanted(arguments: argparse.Namespace, asks: dict[str, bool]) -> list[_Function]:
    """Those that are named, and the server's others unless only some are wanted."""
    named = [_function(arguments, tool, asks.get(tool)) for tool in dict.fromkeys([*arguments.tool, *asks])]
    if arguments.tool:
        return named
    return [*named, {**_function(arguments, EVERY_TOOL, None), "name": arguments.name}]


def _function(arguments: argparse.Namespace, tool: str, confirm: bool | None) -> _Function:
    implementation = {"kind": "mcp", "url": arguments.server, "tool": tool}
    if arguments.secret:
        implementation["secret"] = arguments.secret
    if arguments.secret_header:
        implementation["secret_header"] = arguments.secret_header
    return {
        "name": name_of_tool(arguments.name, tool),
        "requires_user_confirmation": confirm,
        "implementation": implementation,
    }


def _tool(function: _Function, server: str) -> str | None:
    """The tool of that server that a function is, if it is one."""
    implementation = function["implementation"]
    if implementation["kind"] != "mcp" or implementation["url"] != server:
        return None
    return str(implementation["tool"])
