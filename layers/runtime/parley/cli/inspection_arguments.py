"""The arguments of the commands that look at threads, runs, events and agents."""

from __future__ import annotations

from typing import Any

from parley.cli.argument_types import add_command, number, text
from parley.cli.shared_arguments import add_server


def add_inspection(commands: Any) -> None:
    """The commands."""
    _add_threads(commands)
    status = add_command(
        commands, "status", "inspect:status", "show a thread", "Show a thread's phase and counters."
    )
    runs = add_command(
        commands,
        "runs",
        "inspect:runs",
        "show a thread's runs",
        "Show the chain of runs of a thread; with a generation, that run's states and prompts as JSON.",
    )
    events = add_command(
        commands,
        "events",
        "inspect:events",
        "print a thread's events",
        "Print a thread's events, one JSON object a line.",
    )
    for parser in (status, runs, events):
        parser.add_argument("thread", metavar="THREAD", type=text("thread"), help="the thread's id")
    runs.add_argument(
        "generation", nargs="?", type=number(1, 10**9), metavar="GENERATION", help="show this run"
    )
    events.add_argument(
        "--after", type=number(0, 10**11), default=0, metavar="SEQ", help="only events after this one"
    )
    events.add_argument(
        "--follow", action="store_true", help="go on with what comes, until the conversation is over"
    )
    agents = add_command(
        commands, "agents", "inspect:agents", "list a project's agents", "List a project's agents."
    )
    for parser in (status, runs, events, agents):
        add_server(parser)


def _add_threads(commands: Any) -> None:
    parser = add_command(
        commands,
        "threads",
        "inspect:threads",
        "list your latest threads",
        "List your threads in a project, the last used first.",
    )
    parser.add_argument(
        "--limit", type=number(1, 1000), default=20, metavar="N", help="how many (default: 20)"
    )
    add_server(parser)
