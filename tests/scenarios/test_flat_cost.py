"""A turn late in a conversation costs what an early one did: DynamoDB's units, and bytes on the disk.

Reads, writes and states are counted in ``test_counts``; a conversation of a thousand turns is measured by
``python -m benchmarks.long``.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any

from parley.tools.function import agent_function
from parley.turns import accept_message
from parley.turns.accept_message import NewMessage
from tests.support.systems import Note, System
from tests.support.units import UnitStore

WINDOW = 4
"""Messages of history that a prompt has (and it sums up 20 more): full by turn 15."""
SCRIPT: list[dict[str, Any]] = [
    {"when": "note", "tool_calls": [{"name": "note", "arguments": {"text": "milk"}}]},
    {"when": "note", "chunks": ["word " * 100]},
    {"when": "say", "chunks": ["word " * 100]},
]


def begun(system: System, word: str) -> str:
    """A thread with its first turn behind it."""
    system.change_settings(fence_seconds=60.0)
    agent = system.agent(
        functions=[agent_function(Note, requires_user_confirmation=False)],
        script=SCRIPT,
        turns_per_run=3,
        history_window=WINDOW,
    )
    thread = system.start(f"{word} 0001", agent)
    system.rest(thread, turns=1)
    return thread


def say(system: System, thread: str, text: str) -> None:
    turns = system.aggregate(thread).turns
    message = NewMessage(message=text)
    accept_message.continue_thread(system.runtime, "dev", system.project, thread, message)
    system.rest(thread, turns=turns + 1)


def charged(system: System, word: str, last: int) -> dict[int, Counter[str]]:
    """Units of each turn."""
    meter = UnitStore(system.store)
    system.runtime.store.inner = meter  # type: ignore[attr-defined]
    thread = begun(system, word)
    units: dict[int, Counter[str]] = {}
    for turn in range(2, last + 1):
        before = Counter(meter.units)
        say(system, thread, f"{word} {turn:04d}")
        units[turn] = meter.units - before
    return units


def test_a_late_turn_costs_the_units_of_an_early_one(system: System) -> None:
    """The turns are alike: both hand their run over, and what a prompt reads and sums up is full."""
    words, last = [("say", 40, 35), ("note", 70, 60)], 30
    if system.backend == "aws":  # moto is slow
        words, last = words[:1], 18
    for word, writes, reads in words:
        units = charged(system, word, last)
        early, late = units[15], units[last]
        assert late["write"] <= early["write"] + 1, (word, early, late)
        assert late["read"] <= early["read"] + 1, (word, early, late)
        assert late["index"] <= early["index"] + 2, (word, early, late)
        assert late["write"] <= writes, (word, late)
        assert late["read"] <= reads, (word, late)


def bytes_on_disk(system: System) -> int:
    """Pages in use, once the write-ahead log is copied back."""
    path = system.store._database.path
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size, pages, free = (
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_size", "page_count", "freelist_count")
        )
    return int(size * (pages - free))


def test_on_the_disk_a_late_turn_takes_the_room_of_an_early_one(embedded: System) -> None:
    for word, most in (("say", 16_000), ("note", 32_000)):
        thread = begun(embedded, word)
        sizes = {}
        for turn in range(2, 122):
            say(embedded, thread, f"{word} {turn:04d}")
            if turn in (11, 41, 91, 121):
                sizes[turn] = bytes_on_disk(embedded)
        early, late = (sizes[41] - sizes[11]) / 30, (sizes[121] - sizes[91]) / 30
        assert late <= 1.1 * early + 500, (word, early, late)
        assert late <= most, (word, late)
