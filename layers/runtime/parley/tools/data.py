"""A function pack's own data in a project: JSON values under keys, over the store.

Owns the item layout (partition ``DATA#{project}#{pack}``, the key as sort key, the value as JSON body). There
are no transactions: what must change together belongs in one value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from parley.domain.errors import SaveConflict
from parley.domain.keys import data_partition
from parley.turns.ports import ConditionFailed, Item, Store

TRIES = 10
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """A stored value with its version (1, 2, 3, …)."""

    key: str
    value: Any
    version: int


class ProjectData:
    """The data of one pack in one project."""

    def __init__(self, store: Store, project_id: str, pack: str) -> None:
        self._store = store
        self._partition = data_partition(project_id, pack)

    def get(self, key: str) -> Entry | None:
        """The value under a key, or None."""
        item = self._store.get(self._partition, key)
        return None if item is None else _entry(item)

    def put(self, key: str, value: Any, *, if_version: int | None = None) -> Entry | None:
        """Store a value. With ``if_version`` (0: only if there is none) None if another one is there."""
        try:
            item = Item(self._partition, key, _body(value))
            return _entry(self._store.put(item, if_version=if_version))
        except ConditionFailed:
            return None

    def list(self, prefix: str) -> list[Entry]:
        """All values whose key begins with ``prefix``, by key."""
        entries: list[Entry] = []
        after: str | None = None
        while True:
            page = self._store.query(self._partition, prefix, after=after, limit=_PAGE)
            entries.extend(_entry(item) for item in page)
            if len(page) < _PAGE:
                return entries
            after = page[-1].sort

    def update(self, key: str, change: Callable[[Any], Any]) -> Any:
        """Save ``change(value)``, again if another writer was faster; returns what is stored then.

        ``change`` gets None for a key that is not there, and must be free of effects; what it raises leaves
        the value as it was. Nothing is written if it returns an equal value. After ten tries: SaveConflict.
        """
        for _ in range(TRIES):
            item = self._store.get(self._partition, key)
            body = None if item is None else item.body
            value = change(None if body is None else json.loads(body))
            changed = _body(value)
            if changed == body:
                return value
            try:
                version = 0 if item is None else item.version
                self._store.put(Item(self._partition, key, changed), if_version=version)
            except ConditionFailed:
                continue
            return value
        raise SaveConflict(f"{key} changed under each of {TRIES} tries to save it")

    def delete(self, key: str) -> None:
        """Remove a value, if it is there."""
        self._store.delete(self._partition, key)


def _entry(item: Item) -> Entry:
    return Entry(item.sort, json.loads(item.body), item.version)


def _body(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
