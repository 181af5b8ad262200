"""A conversation of 1,000 turns: what a turn costs at its beginning and at its end.

In one process, without HTTP and without anybody who listens: milliseconds from the message until the run waits again,
the store's reads and writes with their bytes, and bytes on disk (the pages that SQLite uses, and the blobs), per turn,
in the turns 1 to 50 and in the last 50. The scripted model answers with 40 chunks of 5 characters at once, and
in a second conversation calls a function first. Runs are handed over every three turns.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from parley import wiring
from parley.domain.agents import Agent
from parley.domain.conversation import RunStatus
from parley.installation import Installation
from parley.turns import accept_message, agents, conversations
from parley.turns.accept_message import NewMessage
from tests.support.counted import CountedStore, Counts

CHUNKS = [f"{number:04d} " for number in range(40)]
LOOK = {
    "when": "look",
    "tool_calls": [{"name": "getTopProducts", "arguments": {"limit": 5, "sortBy": "units"}}],
}
SCRIPT = [LOOK, {"when": "look", "chunks": CHUNKS}, {"when": "talk", "chunks": CHUNKS}]


class Cost(NamedTuple):
    """Of one turn."""

    milliseconds: float
    reads: int
    writes: int
    bytes_read: int
    bytes_written: int


class Long:
    """One long conversation."""

    def __init__(self, installation: Installation, calls: bool) -> None:
        self._database = installation.database
        self._folder = installation.database.path.parent
        self._counts = Counts()
        store = CountedStore(installation.store, self._counts)
        self._runtime = replace(installation.runtime, store=store)
        wiring.use(self._runtime)
        self._calls = calls
        self._thread: str | None = None
        function = {
            "name": "getTopProducts",
            "implementation": {"kind": "class", "class_name": "getTopProducts"},
        }
        facts = {
            "agent_id": "long",
            "name": "Long",
            "provider": "scripted",
            "model": "demo",
            "functions": [function],
        }
        agent = Agent.model_validate({**facts, "settings": {"script": SCRIPT}})
        agents.put_agent(self._runtime, "demo", agent)

    def turn(self, number: int) -> Cost:
        """One turn, from the message until its run waits."""
        text = f"{'look' if self._calls else 'talk'} {number:04d}"
        before = self._counts.snapshot()
        began = time.perf_counter()
        self._say(text)
        while not self._rests(number):
            with self._counts.changed:
                self._counts.changed.wait(0.001)
        seconds = time.perf_counter() - began
        n, size = self._counts.since(before)
        return Cost(
            seconds * 1000,
            n.get("store.get", 0) + n.get("store.query", 0),
            n["store.put"],
            size.get("store.get", 0) + size.get("store.items", 0),
            size["store.put"],
        )

    def _say(self, text: str) -> None:
        message = NewMessage(message=text)
        if self._thread is None:
            self._thread = accept_message.start_thread(
                self._runtime, "dev", "demo", "long", message
            ).thread_id
        else:
            accept_message.continue_thread(self._runtime, "dev", "demo", self._thread, message)

    def _rests(self, turns: int) -> bool:
        saved = self._runtime.store.aggregates.get(f"THREAD#{self._thread}")
        if saved is None:
            return False
        known = conversations.Conversation.model_validate_json(saved.body)
        return known.turns == turns and known.run.status is RunStatus.PARKED

    def bytes_on_disk(self) -> dict[str, int]:
        """Bytes of each table and index, and of the blobs; the write-ahead log is copied back first."""
        with closing(sqlite3.connect(self._folder / "parley.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            sizes = dict(connection.execute("SELECT name, sum(payload) FROM dbstat GROUP BY name"))
            sizes["pages"] = connection.execute("SELECT sum(pgsize) FROM dbstat").fetchone()[0]
        files = (self._folder / "blobs").rglob("*")
        return {**sizes, "blobs": sum(path.stat().st_size for path in files if path.is_file())}


@contextmanager
def opened(calls: bool) -> Iterator[Long]:
    """A conversation in a fresh data folder."""
    with tempfile.TemporaryDirectory() as folder:
        installation = wiring.embedded(Path(folder))
        try:
            yield Long(installation, calls)
        finally:
            installation.close()
            wiring.use(None)


def measure(turns: int, *, calls: bool, window: int = 50, detail: bool = False) -> None:
    """Print a row for each window of turns."""
    with opened(calls) as conversation:
        for number in range(1, turns + 1):
            if (number - 1) % window == 0:
                disk, costs = conversation.bytes_on_disk(), []
            costs.append(conversation.turn(number))
            if number % window == 0:
                row = {"calls": calls, "turns": f"{number - window + 1}-{number}", **_figures(costs)}
                now = conversation.bytes_on_disk()
                grown = {name: round((size - disk.get(name, 0)) / window) for name, size in now.items()}
                row["disk_bytes"] = grown["pages"] + grown["blobs"]
                if detail:
                    row["disk"] = {name: size for name, size in grown.items() if size}
                if detail or number in (window, turns):
                    print(json.dumps(row), flush=True)


def _figures(costs: list[Cost]) -> dict[str, float]:
    means = {
        name: round(statistics.mean(getattr(cost, name) for cost in costs), 1) for name in Cost._fields[1:]
    }
    times = [cost.milliseconds for cost in costs]
    return {
        "p50_ms": round(statistics.median(times), 2),
        "mean_ms": round(statistics.mean(times), 2),
        **means,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long")
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--detail", action="store_true", help="every window, and bytes by table")
    arguments = parser.parse_args()
    for calls in (False, True):
        measure(arguments.turns, calls=calls, detail=arguments.detail)


if __name__ == "__main__":
    main()
