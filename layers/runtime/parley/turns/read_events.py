"""Reading the event log: pages over REST, replay over WebSocket."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.conversation import Conversation
from parley.domain.errors import Gone
from parley.domain.events import Event
from parley.turns import projects
from parley.turns.event_log import as_events, first_seq, parse_events
from parley.turns.records import whole_body
from parley.turns.runtime import Runtime

PAGE_BYTES = 5_000_000
LOOK_SECONDS = 0.25
"""How often a waiting reader looks into the log."""


def read_events(
    runtime: Runtime, user_id: str, project_id: str, thread_id: str, after: int, limit: int, wait: float
) -> dict[str, Any]:
    """A page of events behind ``after``; ``next`` is the ``after`` of the next page.

    With nothing there yet it waits up to ``wait`` seconds. Raises Gone (``events_expired``) below what is kept.
    """
    conversation = projects.require_thread(runtime, user_id, project_id, thread_id).value
    events = events_after(runtime, conversation, after, limit)
    until = runtime.clock.now() + wait
    while not events and runtime.clock.now() < until:
        runtime.clock.sleep(min(LOOK_SECONDS, max(0.01, until - runtime.clock.now())))
        events = events_after(runtime, conversation, after, limit)
    shown = [event.public() for event in events]
    return {"events": shown, "next": events[-1].seq if events else after}


def read_events_before(
    runtime: Runtime, user_id: str, project_id: str, thread_id: str, before: int, limit: int
) -> dict[str, Any]:
    """The last events below ``before``, oldest first; ``previous`` is the ``before`` of the page that lies before.

    It is None where nothing is kept before them. ``next`` is the ``after`` with which the log goes on behind them.
    """
    conversation = projects.require_thread(runtime, user_id, project_id, thread_id).value
    found, more = _events_before(runtime, conversation, before, limit)
    behind = found[-1].seq if found else min(before - 1, conversation.last_seq)
    return {
        "events": [event.public() for event in found],
        "next": behind,
        "previous": found[0].seq if found and more else None,
    }


def _events_before(
    runtime: Runtime, conversation: Conversation, before: int, limit: int
) -> tuple[list[Event], bool]:
    """Up to ``limit`` events below ``before``, at most 5 MB of them (and at least one); whether more lie below."""
    found: list[Event] = []
    size = 0
    position = keys.event(before)
    page = min(limit, 50)
    while True:
        items = runtime.store.query(
            keys.thread_partition(conversation.thread_id),
            keys.EVENTS,
            after=position,
            limit=page,
            descending=True,
        )
        for item in items:
            body = whole_body(runtime, item)
            if found and size + len(body) > PAGE_BYTES:
                return found, True
            size += len(body)
            events = as_events(conversation, first_seq(item), parse_events(body))
            found = [event for event in events if event.seq < before] + found
            if len(found) > limit:
                return found[-limit:], True
        if len(items) < page:
            return found, False
        position = items[-1].sort


def events_after(runtime: Runtime, conversation: Conversation, after: int, limit: int) -> list[Event]:
    """Up to ``limit`` events behind ``after``, values whole, at most 5 MB of them (and at least one)."""
    found: list[Event] = []
    size = 0
    position = _item_before(runtime, conversation, after)
    while True:
        items = runtime.store.query(
            keys.thread_partition(conversation.thread_id), keys.EVENTS, after=position, limit=min(limit, 50)
        )
        for item in items:
            body = whole_body(runtime, item)
            if found and size + len(body) > PAGE_BYTES:
                return found
            size += len(body)
            first = first_seq(item)
            if (
                first > (found[-1].seq if found else after) + 1
            ):  # what waited for a person outlives its neighbours
                if found:
                    return found
                raise _gone(first)
            events = as_events(conversation, first, parse_events(body))
            found += [event for event in events if event.seq > after]
            if len(found) >= limit:
                return found[:limit]
        if len(items) < min(limit, 50):
            return found
        position = items[-1].sort


def _item_before(runtime: Runtime, conversation: Conversation, after: int) -> str | None:
    """The sort key behind which the item with event ``after + 1`` lies. Raises Gone if that has expired."""
    partition = keys.thread_partition(conversation.thread_id)
    holding = runtime.store.query(
        partition, keys.EVENTS, after=keys.event(after + 2), limit=1, descending=True
    )
    if holding:
        return keys.event(first_seq(holding[0]) - 1)
    oldest = runtime.store.query(partition, keys.EVENTS, limit=1)
    start = first_seq(oldest[0]) if oldest else conversation.last_seq + 1
    if start > after + 1:  # else they were written since the look before
        raise _gone(start)
    return None


def _gone(start: int) -> Gone:
    return Gone("events_expired", f"Events before {start} are no longer kept.", oldest=start)
