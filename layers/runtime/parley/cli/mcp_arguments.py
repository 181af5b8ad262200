"""The arguments of `parley mcp` and its actions."""

from __future__ import annotations

import argparse
from typing import Any

from parley.cli.argument_types import add_command, text
from parley.cli.shared_arguments import add_agent, add_server


def add_mcp(commands: Any) -> None:
    """The command with its two actions."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "mcp",
        help="give an agent the tools of an MCP server",
        description="Give an agent the tools of an MCP server (streamable HTTP), or take them away.",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    add = _add_action(actions)
    remove = _action(
        actions, "remove", "remove a server's tools", "Remove all functions of a server from an agent."
    )
    remove.add_argument("server", metavar="SERVER", type=text("server"), help="the server's address")
    for action in (add, remove):
        add_agent(action, "agent whose functions they are")
        add_server(action)


def _add_action(actions: Any) -> argparse.ArgumentParser:
    add = _action(
        actions,
        "add",
        "add a server's tools",
        "Add a server's tools to an agent, each as a function NAME_TOOL. A tool that does not say that it only reads "
        "asks a person before it runs. Tools that the agent has already stay as they are.",
    )
    add.add_argument(
        "name", metavar="NAME", type=text("name"), help="what the functions' names begin with, such as github"
    )
    add.add_argument(
        "server", metavar="SERVER", type=text("server"), help="the server's address, such as https://host/mcp"
    )
    add.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="TOOL",
        type=text("tool"),
        help="only this tool (repeatable)",
    )
    _add_wishes(add)
    return add


def _add_wishes(add: argparse.ArgumentParser) -> None:
    """Who is asked, and what the server is told."""
    add.add_argument(
        "--confirm",
        action="append",
        default=[],
        metavar="TOOL",
        type=text("tool"),
        help="this tool asks a person before it runs (repeatable)",
    )
    add.add_argument(
        "--no-confirm",
        action="append",
        default=[],
        metavar="TOOL",
        type=text("tool"),
        help="this tool does not ask, whatever the server says (repeatable)",
    )
    add.add_argument(
        "--secret",
        metavar="SETTING",
        type=text("secret"),
        help="name of the project's secret that the server wants, such as GITHUB_TOKEN",
    )
    add.add_argument(
        "--secret-header",
        metavar="HEADER",
        type=text("header"),
        help="header that carries the secret (default: Authorization, as a bearer token)",
    )


def _action(actions: Any, name: str, help: str, description: str) -> argparse.ArgumentParser:
    return add_command(actions, name, f"mcp:{name}_tools", help, description)
