"""`parley confirmations` and `parley confirm`: what waits for a decision, and deciding it from anywhere."""

from __future__ import annotations

import argparse
from typing import Any

from parley.cli.api import Api, segment
from parley.cli.asked import action_lines, listed, question_lines
from parley.cli.failure import CommandFailed
from parley.cli.inspect import moment
from parley.cli.servers import reached_server
from parley.cli.terminal import Terminal, named

_STANDS = {
    "applied": "{decision}",
    "duplicate": "it was {decision} already; nothing changed",
    "expired": "too late: nobody decided in time, the action did not run",
    "superseded": "too late: a newer message took its place, the action did not run",
    "cancelled": "too late: its turn was cancelled, the action did not run",
}


def confirmations(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """List what waits for the user's decision."""
    with reached_server(arguments) as api:
        waiting = pending(api, arguments.project)
    for number, entry in enumerate(waiting):
        if number:
            terminal.line()
        heading = f"{entry['proposal_id']}  asked by {named(entry['user_id'])}"
        terminal.line(terminal.styled("bold", f"{heading}, expires {moment(entry['expires_at'])}"))
        for line in (*question_lines(entry["question"]), *action_lines(entry["name"], entry["arguments"])):
            terminal.line(f"  {line}")
    if not waiting:
        terminal.line("Nothing waits for your decision.")
    return 0


def confirm(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Decide a proposal. 0 if this decision is the one that counts."""
    body: dict[str, Any] = {"approved": arguments.approve}
    if arguments.reason:
        body["reason"] = arguments.reason
    if arguments.arguments is not None and not arguments.approve:
        raise CommandFailed("--arguments goes with --approve", status=2)
    with reached_server(arguments, working=True) as api:
        known = {entry["proposal_id"]: entry for entry in pending(api, arguments.project)}
        proposal = known.get(arguments.proposal)
        # Of one that is not listed (decided, or one of very many) nothing is known to be kept.
        proposed = proposal["arguments"] if proposal else {}
        if arguments.arguments is not None:
            body["arguments"] = {**proposed, **arguments.arguments}
        if proposal is not None:
            given = body.get("arguments", proposed)
            for line in (
                *question_lines(proposal["question"]),
                *action_lines(proposal["name"], given, proposed),
            ):
                terminal.line(line)
        elif "arguments" in body:
            terminal.line(f"with {listed(body['arguments'])}")
        answer = decide(api, arguments.proposal, body)
    terminal.line(in_words(answer))
    return 0 if answer["outcome"] == "applied" else 1


def pending(api: Api, project: str) -> list[dict[str, Any]]:
    """What waits for the user: of their own threads, for an approver of the whole project."""
    waiting: list[dict[str, Any]] = api.get(f"/api/projects/{segment(project)}/confirmations")[
        "confirmations"
    ]
    return waiting


def decide(api: Api, proposal_id: str, body: dict[str, Any]) -> dict[str, Any]:
    """Post a decision: ``{"outcome", "decision"}``. Raises Refused."""
    return api.post(f"/confirmations/{segment(proposal_id)}", body)


def in_words(answer: dict[str, Any]) -> str:
    """What became of a decision."""
    return _STANDS[answer["outcome"]].format(decision=answer["decision"])
