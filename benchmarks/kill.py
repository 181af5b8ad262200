"""``make kill``: ``parley serve`` killed at fifty random instants under load. Fails on any loss.

``ARGS="--seed 7"`` does the same again; ``--folder F`` keeps the data folder and the server's log.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from pathlib import Path

from tests.faults.killing import Plan, run


def main() -> None:
    parser = argparse.ArgumentParser(prog="make kill")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--conversations", type=int, default=20)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    plan = Plan(arguments.seed, arguments.kills, arguments.conversations)
    print(f"make kill ARGS='--seed {plan.seed} --kills {plan.kills} --conversations {plan.conversations}'")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        figures = asyncio.run(run(plan, folder))
    print(json.dumps({**figures, "seconds": round(time.monotonic() - begun)}))
    print(
        "Every message answered once and in order, every approved action under one key, nothing left hanging."
    )


if __name__ == "__main__":
    main()
