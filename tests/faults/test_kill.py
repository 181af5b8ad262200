"""A real server process that is killed under load; ``make kill`` does the same fifty times."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from parley import wiring
from parley.clock import MovableClock, SystemClock
from parley.turns import accept_message, conversations
from parley.turns.accept_message import NewMessage
from tests.faults.killing import Plan, run
from tests.support.served import served, until


def test_a_server_that_is_killed_under_load_loses_nothing_and_does_nothing_twice(tmp_path: Path) -> None:
    plan = Plan(seed=11, kills=3, conversations=4, longest_life=0.7, start_kills=0.34, start_seconds=0.8)
    figures = asyncio.run(run(plan, tmp_path))
    assert figures["kills"] >= 3
    assert figures["turns"] >= 4 * 8


def test_what_was_accepted_and_never_signalled_is_answered_as_soon_as_a_server_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_minute_ago = MovableClock(SystemClock().now() - 60)
    installation = wiring.embedded(tmp_path, clock=a_minute_ago)
    with monkeypatch.context() as dying:
        dying.setattr(conversations, "send_signals", lambda *_: None)
        message = NewMessage(message="Hi")
        thread = accept_message.start_thread(
            installation.runtime, "dev", "demo", "general-assistant", message
        ).thread_id
    installation.close()
    with served(tmp_path) as running, running.client() as client:
        until(lambda: client.get(f"/api/projects/demo/chat-threads/{thread}").json()["turns"] == 1)
