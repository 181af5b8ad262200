"""200 conversations of 20 turns at once on the embedded backend: no error, memory flat.

``parley serve`` runs in a process of its own; each conversation has a user, an HTTP connection and a WebSocket
of its own, and its turns come one right after another. Every fifth turn calls a function. What the server's
process holds (resident memory, threads, open files) is sampled while it works.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.turns import CHUNKS, Conversation, Http, Served, member_token, server

LOOK = {
    "when": "look",
    "tool_calls": [{"name": "getTopProducts", "arguments": {"limit": 5, "sortBy": "units"}}],
}
AGENT = {
    "agent_id": "soak",
    "name": "Soak",
    "provider": "scripted",
    "model": "demo",
    "functions": [
        {"name": "getTopProducts", "implementation": {"kind": "class", "class_name": "getTopProducts"}}
    ],
    "settings": {"script": [LOOK, {"when": "look", "chunks": CHUNKS}, {"when": "talk", "chunks": CHUNKS}]},
}
EVERY = 5
SAMPLE_SECONDS = 0.5


@dataclass
class Samples:
    """Of the server's process, and how many turns were done by then."""

    pid: int
    done: int = 0
    taken: list[dict[str, Any]] = field(default_factory=list)

    def take(self) -> None:
        status = dict(
            line.split(":", 1)
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines()
            if ":" in line
        )
        megabytes = round(int(status["VmRSS"].split()[0]) / 1024, 1)
        files = sum(1 for _ in Path(f"/proc/{self.pid}/fd").iterdir())
        self.taken.append(
            {"turns": self.done, "rss_mb": megabytes, "threads": int(status["Threads"]), "files": files}
        )

    async def keep_taking(self) -> None:
        while True:
            self.take()
            await asyncio.sleep(SAMPLE_SECONDS)

    def at(self, turns: float) -> dict[str, Any]:
        """The first sample at or behind so many turns."""
        return next((sample for sample in self.taken if sample["turns"] >= turns), self.taken[-1])


async def _hold(conversation: Conversation, turns: int, samples: Samples) -> list[float]:
    times = []
    for number in range(turns):
        word = "look" if number % EVERY == EVERY - 1 else "talk"
        times.append(await conversation.turn(number, word))
        samples.done += 1
    return times


async def soak(served: Served, conversations: int, turns: int) -> None:
    """One round; prints its rows."""
    owner = Http(served, member_token(served, "dev"))
    await owner.call("PUT", "/api/projects/demo/agents/soak", AGENT)
    users = [f"soak{number}" for number in range(conversations)]
    held = [Conversation(served, user, member_token(served, user), "soak") for user in users]
    await asyncio.gather(*(conversation.open() for conversation in held))
    samples = Samples(served.pid)
    sampler = asyncio.create_task(samples.keep_taking())
    began = time.perf_counter()
    times = await asyncio.gather(*(_hold(conversation, turns, samples) for conversation in held))
    elapsed = time.perf_counter() - began
    sampler.cancel()
    samples.take()
    await asyncio.gather(*(conversation.close() for conversation in held))
    flat = sorted(second for some in times for second in some)
    everything = conversations * turns
    for share in (0.05, 0.25, 0.5, 0.75, 1.0):
        print(json.dumps(samples.at(share * everything)), flush=True)
    result = {
        "conversations": conversations,
        "turns": len(flat),
        "turns_per_second": round(len(flat) / elapsed, 1),
        "p50_s": round(statistics.median(flat), 2),
        "p95_s": round(flat[int(len(flat) * 0.95)], 2),
        "most_threads": max(sample["threads"] for sample in samples.taken),
        "load_average": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--turns", type=int, default=20)
    arguments = parser.parse_args()
    with server() as served:
        asyncio.run(soak(served, arguments.conversations, arguments.turns))


if __name__ == "__main__":
    main()
