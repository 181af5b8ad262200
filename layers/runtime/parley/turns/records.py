"""Values in the store: JSON in and out, bodies too large for an item kept as blobs.

A body over ``Settings.inline_limit`` is put into the blobs first, under a key of its own, and the item holds
``{"$blob": key}``; readers see the whole value either way. The blobs of items that expire lie below a folder for each
length of time that events are kept for, so that a rule of the bucket can take them too.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from parley.domain.values import Value
from parley.turns.ports import ConditionFailed, IndexKey, Item
from parley.turns.runtime import DAY, Runtime

V = TypeVar("V", bound=Value)
_REFERENCE = '{"$blob":'
EXPIRING = "expiring/"
EXPIRING_LATER = "expiring-after-a-wait/"
"""Of what is logged while an action waits: events are kept from the end of the wait on."""
LONGEST_WAIT = 30 * DAY
"""Seconds that an action waits for a person at most: see ``Agent.confirmation_seconds``."""


@dataclass(frozen=True, slots=True)
class Stored(Generic[V]):
    """A value and the version under which it was read."""

    value: V
    version: int


def whole_body(runtime: Runtime, item: Item) -> str:
    """The item's body, fetched from the blobs if it lies there."""
    key = blob_key(item.body)
    if key is None:
        return item.body
    blob = runtime.blobs.get(key)
    if blob is None:
        raise LookupError(f"the blob behind {item.partition} {item.sort} is gone")
    return blob.decode()


def blob_key(body: str) -> str | None:
    """The key of the blob that an item's body stands for; None if it is the body itself."""
    return str(json.loads(body)["$blob"]) if body.startswith(_REFERENCE) else None


def load(runtime: Runtime, partition: str, sort: str, kind: type[V]) -> Stored[V] | None:
    """The value under these keys, or None."""
    item = runtime.store.get(partition, sort)
    return None if item is None else parse(runtime, item, kind)


def parse(runtime: Runtime, item: Item, kind: type[V]) -> Stored[V]:
    """The value of an item that was read."""
    return Stored(kind.model_validate_json(whole_body(runtime, item)), item.version)


def put_body(runtime: Runtime, item: Item, *, if_version: int | None) -> Item:
    """Store an item of any body size. Raises ConditionFailed."""
    encoded = item.body.encode()
    if len(encoded) > runtime.settings.inline_limit:
        key = f"{_folder(runtime, item.expires_at)}{item.partition}/{item.sort}/{uuid.uuid4().hex}"
        runtime.blobs.put(key, encoded, content_type="application/json")
        item = replace(item, body=json.dumps({"$blob": key}, separators=(",", ":")))
    return runtime.store.put(item, if_version=if_version)


def _folder(runtime: Runtime, expires_at: int | None) -> str:
    if expires_at is None:
        return "items/"
    latest = runtime.clock.now() + runtime.settings.event_retention_seconds
    return EXPIRING if expires_at <= latest else EXPIRING_LATER


def put(
    runtime: Runtime,
    partition: str,
    sort: str,
    value: Value,
    *,
    if_version: int | None,
    expires_at: int | None = None,
    listed: IndexKey | None = None,
) -> None:
    """Store a value. Raises ConditionFailed."""
    item = Item(partition, sort, value.model_dump_json(), expires_at=expires_at, listed=listed)
    put_body(runtime, item, if_version=if_version)


def put_once(runtime: Runtime, partition: str, sort: str, value: V, *, expires_at: int | None = None) -> V:
    """Store a value under a deterministic key, or return the one that is there: whoever wrote first, won."""
    try:
        put(runtime, partition, sort, value, if_version=0, expires_at=expires_at)
    except ConditionFailed as failed:
        if failed.stored is None:
            raise
        return parse(runtime, failed.stored, type(value)).value
    return value
