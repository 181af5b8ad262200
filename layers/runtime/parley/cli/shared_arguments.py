"""Arguments that several commands have: for whom, with which agent, of which server or data folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from parley.cli.argument_types import folder, text, token


def add_server(parser: argparse.ArgumentParser) -> None:
    """For whom a command asks, and which server."""
    add_project(parser, "project")
    add_user(parser, "user of a local server")
    # An empty one is a variable that was not set, not a wish for the local server or for its token.
    parser.add_argument(
        "--url", type=text("url"), help="address of a server, local or deployed (needs --token)"
    )
    parser.add_argument("--token", type=token, help="token for --url")
    add_data(parser)


def add_project(parser: argparse.ArgumentParser, help: str) -> None:
    """``help`` without the default, which is the demo's; of the following two as well."""
    parser.add_argument("--project", default="demo", type=text("project"), help=f"{help} (default: demo)")


def add_user(parser: argparse.ArgumentParser, help: str) -> None:
    """The demo's user."""
    parser.add_argument("--user", default="dev", type=text("user"), help=f"{help} (default: dev)")


def add_agent(parser: argparse.ArgumentParser, help: str) -> None:
    """The demo's first agent."""
    parser.add_argument(
        "--agent", default="general-assistant", type=text("agent"), help=f"{help} (default: %(default)s)"
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """The data folder."""
    parser.add_argument("--data", type=folder, default=Path(".parley"), help="data folder (default: .parley)")
