"""`parley confirmations` and `parley confirm`: what waits for a decision, and deciding it from anywhere."""

from __future__ import annotations

import argparse
import json
from typing import Any

from parley.cli.api import Api, segment
from parley.cli.failure import CommandFailed
from parley.cli.inspect import moment, table
from parley.cli.servers import reached_server
from parley.cli.terminal import Terminal, named, shortened

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
        rows = [
            [entry["proposal_id"], entry["user_id"], moment(entry["expires_at"]), named(entry["question"])]
            for entry in waiting
        ]
        if rows:
            table(terminal, ["proposal", "asked by", "expires", "question"], rows)
        else:
            terminal.line("Nothing waits for your decision.")
    return 0


def confirm(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Decide a proposal. 0 if this decision is the one that counts."""
    body: dict[str, Any] = {"approved": arguments.approve}
    if arguments.reason:
        body["reason"] = arguments.reason
    if arguments.arguments is not None and not arguments.approve:
        raise CommandFailed("--arguments goes with --approve", status=2)
    with reached_server(arguments) as api:
        known = {entry["proposal_id"]: entry for entry in pending(api, arguments.project)}
        proposal = known.get(arguments.proposal)
        if proposal is not None:
            terminal.line(named(proposal["question"]))
        if arguments.arguments is not None:
            # Of one that is not listed (decided, or one of very many) nothing is known to be kept.
            proposed = proposal["arguments"] if proposal else {}
            body["arguments"] = {**proposed, **arguments.arguments}
            shown = json.dumps(body["arguments"], ensure_ascii=False)
            terminal.line(f"with {named(shortened(shown, 400))}")
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
