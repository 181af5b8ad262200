"""Where a world's event log is written, and how it is left as it was."""

from __future__ import annotations

from parley.turns.event_log import EventLog
from tests.faults.world import World


def a_log(world: World, *, rerun: bool = False, start: int | None = None) -> EventLog:
    return EventLog(world.runtime, world.conversation(), rerun=rerun, start=start)


def forget(world: World) -> None:
    """The made-up events are no part of the conversation that comes to rest behind the test."""
    for item in world.store.query(f"THREAD#{world.thread_id}", "EVENT#", limit=1000):
        world.store.delete(item.partition, item.sort)
