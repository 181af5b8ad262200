"""The gap-free event log of a root thread: stored first, pushed afterwards.

An item is keyed by its first ``seq`` and holds consecutive events. A writer only ever writes at ``last + 1`` of
an item that it has read, so two writers meet at the same key: one wins, the other gets the winner back and goes
on behind it. Hence no gap and no overlap, without a counter.

The log is a fence as well. A writer appends only when it has seen everything before, so it cannot overlook that the
turn of its event is over, or that a later try of its model call has begun to speak: it stops with StaleRun. A task
that was given up may go on for as long as it likes; the log keeps the order in which things ended.

A task that runs again must not append its events twice. Events other than chunks have a stable ``event_id``; a
first try cannot have appended any before it began, and sees whatever is appended behind that; a later try reads
the events since the turn began first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_core import to_json

from parley.domain import keys
from parley.domain.conversation import Conversation
from parley.domain.errors import StaleRun
from parley.domain.events import BETWEEN_TURNS, TURN_ENDS, Event, EventName, NewEvent, channel_of
from parley.turns import publish
from parley.turns.ports import ConditionFailed, Item
from parley.turns.records import put_body, whole_body
from parley.turns.runtime import Runtime

LoggedEvent = dict[str, Any]
"""An event as it lies in an item: what the item's key and the thread say is left out.

``event``, ``id`` (the ``event_id``), ``sub`` and ``parent`` (thread ids), ``turn``, ``at``, ``data``.
"""


def first_seq(item: Item) -> int:
    """The ``seq`` of an item's first event."""
    return int(item.sort.removeprefix(keys.EVENTS))


def parse_events(body: str) -> list[LoggedEvent]:
    """The events in an item's whole body."""
    logged: list[LoggedEvent] = json.loads(body)
    return logged


def as_events(conversation: Conversation, first: int, logged: list[LoggedEvent]) -> list[Event]:
    """Logged events in their public envelope."""
    channel = channel_of(conversation.user_id, conversation.project_id)
    return [
        Event(
            event=entry["event"],
            channel=channel,
            thread_id=conversation.thread_id,
            subthread_id=entry["sub"],
            parent_thread_id=entry["parent"],
            seq=first + place,
            turn=entry["turn"],
            at=entry["at"],
            data=entry["data"],
        )
        for place, entry in enumerate(logged)
    ]


class EventLog:
    """A writer of one task. ``rerun`` says that this task may have run before.

    ``start`` is the end of an item that was in the log before this task could write: the tail is then not read,
    and a writer that starts too early meets those who were faster, its own former tries among them.
    ``until``: once an event of these ids is there, whatever this writer has to add is too late.
    Not for use by two threads at once: one append is in flight per writer.
    """

    def __init__(
        self,
        runtime: Runtime,
        conversation: Conversation,
        *,
        rerun: bool,
        start: int | None = None,
        until: Sequence[str] = (),
    ) -> None:
        self._runtime = runtime
        self._conversation = conversation
        self._partition = keys.thread_partition(conversation.thread_id)
        self._until = until
        self._known: set[str] = set()
        self._ended = conversation.turns
        self._latest = conversation.turns
        self._speaks: dict[str, int] = {}
        self._last = max(conversation.last_seq, start or 0, *self._before_a_long_wait())
        if rerun or start is None:
            self._read_tail(rerun=rerun)

    @property
    def last_seq(self) -> int:
        """The last ``seq`` that this writer has seen."""
        return self._last

    def knows(self, event_id: str) -> bool:
        """Whether this writer has seen the event in the log."""
        return event_id in self._known

    def speaks(self, message_id: str) -> int:
        """The try of a model call whose pieces clients have before them, as far as this writer has seen; 0: none's."""
        return self._speaks.get(message_id, 0)

    def append(self, *events: NewEvent) -> None:
        """Log the events that are not there yet, consecutively, then push them. Raises StaleRun, see above."""
        self.append_made(lambda: events)

    def append_made(self, make: Callable[[], Sequence[NewEvent]]) -> None:
        """As ``append``, of events that depend on what is in the log before them."""
        while fresh := [
            event for event in make() if event.event_id is None or event.event_id not in self._known
        ]:
            self._require_in_time(fresh)
            now = self._runtime.clock.now()
            logged = [_logged(event, now) for event in fresh]
            first = self._last + 1
            item = Item(
                self._partition,
                keys.event(first),
                to_json(logged, inf_nan_mode="null").decode(),
                expires_at=self._expiry(now),
            )
            try:
                put_body(self._runtime, item, if_version=0)
            except ConditionFailed as failed:
                if failed.stored is None:
                    raise
                self._absorb(failed.stored)
                self._catch_up()
                continue
            self._note(first, logged)
            publish.push(self._runtime, as_events(self._conversation, first, logged))
            return

    def _before_a_long_wait(self) -> list[int]:
        """How far the log had come before waits so long that what lay behind ``start`` may have expired meanwhile."""
        old = self._runtime.clock.now() - self._runtime.settings.event_retention_seconds / 2
        return [entry.shown_seq for entry in self._conversation.proposals if entry.shown_at < old]

    def _expiry(self, now: float) -> int:
        """Counted from the end of the longest wait: what is logged before it must not expire within the turn."""
        waits = [entry.expires_at for entry in self._conversation.proposals if entry.outcome is None]
        return int(max([now, *waits]) + self._runtime.settings.event_retention_seconds)

    def _require_in_time(self, events: Sequence[NewEvent]) -> None:
        late = any(event_id in self._known for event_id in self._until)
        for event in events:
            over = self._latest - 1 if event.event in BETWEEN_TURNS else self._ended
            if late or event.turn <= over:
                raise StaleRun(f"{event.event} of turn {event.turn} comes too late")

    def _read_tail(self, *, rerun: bool) -> None:
        """Read the last item; for a rerun all from the one with ``last_seq`` on, which ends where the turn began."""
        page = 8 if rerun else 1  # what a short turn logs; DynamoDB charges for all that is read
        before: str | None = None
        while True:
            items = self._runtime.store.query(
                self._partition, keys.EVENTS, after=before, limit=page, descending=True
            )
            for item in items:
                self._absorb(item)
                if rerun and first_seq(item) <= self._conversation.last_seq:
                    return
            if not rerun or len(items) < page:
                return
            before, page = items[-1].sort, 50

    def _catch_up(self) -> None:
        """Read what others wrote behind the last ``seq`` that this writer has seen."""
        page = 50
        while True:
            after = keys.event(self._last)
            items = self._runtime.store.query(self._partition, keys.EVENTS, after=after, limit=page)
            for item in items:
                self._absorb(item)
            if len(items) < page:
                return

    def _absorb(self, item: Item) -> None:
        self._note(first_seq(item), parse_events(whole_body(self._runtime, item)))

    def _note(self, first: int, logged: list[LoggedEvent]) -> None:
        self._last = max(self._last, first + len(logged) - 1)
        for entry in logged:
            if entry["id"]:
                self._known.add(entry["id"])
            self._latest = max(self._latest, entry["turn"])
            if entry["event"] in TURN_ENDS and entry["sub"] is None:
                self._ended = max(self._ended, entry["turn"])
            if spoken := _try_of(entry):
                self._speaks[entry["data"]["message_id"]] = spoken


def _try_of(entry: LoggedEvent) -> int:
    """The try of a model call that an event speaks for, 0 for others. (Its arguments come behind a call's start.)"""
    match entry["event"]:
        case EventName.StreamMessageChunk | EventName.MessageReset:
            return int(entry["data"]["attempt"])
        case EventName.FunctionGenerationStart:
            return int(entry["id"].split(":")[1])
        case _:
            return 0


def _logged(event: NewEvent, now: float) -> LoggedEvent:
    return {
        "event": event.event.value,
        "id": event.event_id,
        "sub": event.subthread_id,
        "parent": event.parent_thread_id,
        "turn": event.turn,
        "at": now,
        "data": event.data,
    }
