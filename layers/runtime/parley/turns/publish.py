"""Pushing logged events to whoever listens on the thread's channel. Never fails a turn."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_core import to_json

from parley.domain import keys
from parley.domain.events import Event
from parley.turns.ports import ConnectionGone, Item
from parley.turns.runtime import Runtime

SUBSCRIBER_LIMIT = 100
"""Connections that may listen to one channel: each costs every event a post."""


def frame_of(event: Event, limit: int) -> str:
    """The event as a WebSocket frame; data over ``limit`` bytes is replaced by ``{"$ref": seq}``, whole over REST."""
    frame = to_json(event.public(), inf_nan_mode="null")
    if len(frame) > limit:
        frame = to_json({**event.public(), "data": {"$ref": event.seq}})
    return frame.decode()


def subscribers_of(runtime: Runtime, channel: str) -> list[Item]:
    """Who listens; some more than the limit, for those who came in the same instant."""
    partition = keys.channel_partition(channel)
    return runtime.store.query(partition, keys.CONNECTION, limit=SUBSCRIBER_LIMIT + 20)


def push(runtime: Runtime, events: Sequence[Event]) -> None:
    """Send the events (of one channel) to every subscribed connection; a gone one is forgotten."""
    subscribers = subscribers_of(runtime, events[0].channel)
    if not subscribers:
        return
    frames = [frame_of(event, runtime.settings.frame_limit) for event in events]
    for subscriber in subscribers:
        connection_id = subscriber.sort.removeprefix(f"{keys.CONNECTION}#")
        try:
            for frame in frames:
                runtime.pusher.post(connection_id, frame)
        except ConnectionGone:
            runtime.store.delete(subscriber.partition, subscriber.sort)
            runtime.store.delete(keys.connection_partition(connection_id), keys.CONNECTION)
