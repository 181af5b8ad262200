"""What DynamoDB would charge for: read and write units of a store's operations."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from parley.turns.ports import ConditionFailed, Index, IndexKey, Item, Store

_READ, _WRITE = 4096, 1024
_ATTRIBUTES = 60
"""About what names, numbers and the write id add to an item."""


def _size(item: Item) -> int:
    return _ATTRIBUTES + sum(len(text.encode()) for text in (item.partition, item.sort, item.body))


class UnitStore:
    """A Store. ``units`` counts consistent reads (4 KB each), writes (1 KB each) and writes to indexes.

    A query costs what its items are together; an index entry that is new, gone or moved costs a unit, two if moved.
    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.units: Counter[str] = Counter()
        self._indexed: dict[tuple[str, str], tuple[IndexKey | None, IndexKey | None]] = {}

    def get(self, partition: str, sort: str) -> Item | None:
        item = self.inner.get(partition, sort)
        self.units["read"] += max(1, math.ceil(_size(item) / _READ)) if item else 1
        return item

    def put(self, item: Item, *, if_version: int | None) -> Item:
        self.units["write"] += math.ceil(_size(item) / _WRITE)
        try:
            stored = self.inner.put(item, if_version=if_version)
        except ConditionFailed:
            self.units["refused"] += 1
            raise
        self._index((item.partition, item.sort), (item.due, item.listed))
        return stored

    def _index(self, key: tuple[str, str], now: tuple[IndexKey | None, IndexKey | None]) -> None:
        for before, after in zip(self._indexed.get(key, (None, None)), now, strict=True):
            if before != after:
                self.units["index"] += (before is not None) + (after is not None)
        self._indexed[key] = now

    def query(self, partition: str, prefix: str, **options: Any) -> list[Item]:
        items = self.inner.query(partition, prefix, **options)
        self._charge(items)
        return items

    def query_index(self, index: Index, partition: str, **options: Any) -> list[Item]:
        items = self.inner.query_index(index, partition, **options)
        self._charge(items)
        return items

    def _charge(self, items: list[Item]) -> None:
        self.units["read"] += max(1, math.ceil(sum(map(_size, items)) / _READ))

    def delete(self, partition: str, sort: str, *, if_version: int | None = None) -> None:
        self.inner.delete(partition, sort, if_version=if_version)
        self.units["write"] += 1
