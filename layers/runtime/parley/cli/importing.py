"""`parley import`: sessions of an older program become threads."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import httpx

from parley.cli.failure import CommandFailed
from parley.cli.servers import local_server, operate, reason
from parley.cli.terminal import Terminal, clean, shortened
from parley.turns.old_sessions import sessions_in

_TITLE = 60


def import_sessions(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Import each session of the file; one that cannot be imported does not keep the others from it."""
    sessions = sessions_in(_document(arguments.file))
    failed = 0
    with local_server(arguments.data) as url:
        for place, session in enumerate(sessions, start=1):
            wanted = {
                "user": arguments.user,
                "project": arguments.project,
                "agent": arguments.agent,
                "session": session,
            }
            answer = operate(arguments.data, url, "parley-import", wanted)
            failed += not answer.is_success
            terminal.line(_said(answer, _name(session, place)))
    if failed:
        raise CommandFailed(f"{failed} of {len(sessions)} sessions were not imported")
    return 0


def _document(file: str) -> Any:
    try:
        # Of other encodings' bytes only the texts suffer, and a mark of the order of bytes is none of them.
        text = (
            sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig", errors="replace")
        )
    except OSError as error:
        raise CommandFailed(f"{file} cannot be read: {error.strerror or error}") from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandFailed(f"{file} is not JSON: {error}") from error


def _said(answer: httpx.Response, name: str) -> str:
    if not answer.is_success:
        return f"failed    {name}: {clean(reason(answer))}"
    made = answer.json()
    word = "imported" if made["imported"] else "known   "
    turns = f"{made['turns']} turn" + ("" if made["turns"] == 1 else "s")
    return f"{word}  {made['thread_id']}  {turns}  {shortened(clean(made['title']), _TITLE)}"


def _name(session: Any, place: int) -> str:
    """How a session is called when something is said of it."""
    named = session.get("id") if isinstance(session, dict) else None
    return shortened(clean(str(named)), _TITLE) if named else f"session {place}"
