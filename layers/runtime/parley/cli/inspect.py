"""`parley threads`, `status`, `runs`, `events` and `agents`: looking at what a server knows."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from parley.cli.api import Api, Thread, segment
from parley.cli.failure import CommandFailed
from parley.cli.servers import reached_server
from parley.cli.terminal import Terminal, clean, named, shortened

_EVENT_PAGE = 500
_FOLLOW_SECONDS = 20


def threads(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """List the user's latest threads, the last used first."""
    with reached_server(arguments) as api:
        path = f"/api/projects/{segment(arguments.project)}/chat-threads"
        rows = [
            [
                str(thread["thread_id"]),
                moment(thread["updated_at"]),
                str(thread["phase"]),
                str(thread["agent_id"]),
                str(thread["title"]).replace("\n", " "),
            ]
            for thread in islice(api.pages(path, "threads", limit=min(arguments.limit, 100)), arguments.limit)
        ]
        table(terminal, ["thread", "updated", "phase", "agent", "title"], rows)
    return 0


def status(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Show one thread."""
    with reached_server(arguments) as api:
        thread = api.get(Thread(arguments.project, arguments.thread).path)
        for name in ("thread_id", "agent_id", "title", "phase", "generation", "turns", "queued"):
            _field(terminal, name, thread.get(name))
        _field(terminal, "last_reply", thread.get("last_reply_ref"))
        _field(terminal, "updated_at", moment(thread.get("updated_at")))
        for proposal in thread.get("pending", ()):
            _field(terminal, "pending", f"{named(proposal['question'])} ({proposal['proposal_id']})")
        if thread.get("summary"):
            _field(terminal, "summary", thread["summary"])
    return 0


def runs(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Show the chain of runs of a thread, or the states of one run."""
    with reached_server(arguments) as api:
        thread = Thread(arguments.project, arguments.thread)
        if arguments.generation is not None:
            run = api.get(thread / f"runs/{arguments.generation}")
            terminal.line(json.dumps(run, indent=2, ensure_ascii=False))
            return 0
        rows = [
            [
                str(run["generation"]),
                str(run["status"]),
                str(run["turns"]),
                moment(run.get("started_at")),
                moment(run.get("stopped_at")),
            ]
            for run in api.get(thread / "runs")["runs"]
        ]
        table(terminal, ["run", "status", "turns", "started", "stopped"], rows)
    return 0


def events(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Print the event log, one JSON object a line; with `--follow`, what comes as it comes."""
    with reached_server(arguments) as api:
        path = Thread(arguments.project, arguments.thread) / "events"
        after = arguments.after
        while True:
            wait = _FOLLOW_SECONDS if arguments.follow and api.works() else 0
            completed, last = _print_page(api, path, after, terminal, wait=wait)
            if completed or (last == after and not arguments.follow):
                return 0
            if last == after and not api.works():
                # To wait here would keep out those who could go on with it.
                raise CommandFailed(
                    f"nobody serves {arguments.data}, so no more events come; "
                    "`parley serve` and `parley chat` go on with it"
                )
            after = last


def _print_page(api: Api, path: str, after: int, terminal: Terminal, *, wait: int) -> tuple[bool, int]:
    """Print one page. Whether the conversation is over, and the last `seq`."""
    page = api.get(path, after=after, limit=_EVENT_PAGE, wait=wait)["events"]
    for event in page:
        terminal.line(json.dumps(event, ensure_ascii=False))
    over = bool(page) and page[-1]["event"] == "ConversationCompleted"
    return over, page[-1]["seq"] if page else after


def agents(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """List a project's agents; 1 if one cannot be read."""
    with reached_server(arguments) as api:
        found = api.get(f"/api/projects/{segment(arguments.project)}/agents")
        rows = [
            [
                str(agent["agent_id"]),
                str(agent.get("name", "")),
                f"{agent.get('provider', '')}/{agent.get('model', '')}",
                ", ".join(str(function["name"]) for function in agent.get("functions", ())),
                ", ".join(str(message["id"]) for message in agent.get("predefined_messages", ())),
            ]
            for agent in found["agents"]
        ]
    table(terminal, ["agent", "name", "model", "functions", "predefined"], rows)
    for agent in found.get("unreadable", ()):
        terminal.line(clean(agent["fault"]))
    return 1 if found.get("unreadable") else 0


def _field(terminal: Terminal, name: str, value: object) -> None:
    text = "-" if value is None else clean(str(value))
    terminal.line(f"{name:<12}{text}")


def table(terminal: Terminal, heads: list[str], rows: list[list[str]]) -> None:
    """Print columns, each as wide as its widest cell. A row is a line, whatever stands in its cells."""
    cells = [heads, *([shortened(" ".join(clean(cell).split()), 100) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    for number, row in enumerate(cells):
        text = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        terminal.line(terminal.styled("bold", text) if number == 0 else text)


def moment(value: Any) -> str:
    """A time of the API, epoch seconds or ISO text, for people."""
    if value is None:
        return "-"
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return str(value)
