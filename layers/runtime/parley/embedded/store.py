"""The store on SQLite: one table, one statement per operation.

An item whose time is over counts as absent from that second on; `SqliteStore.purge_expired` removes it.
SQLite orders text by its UTF-8 bytes, as DynamoDB does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final

from parley.embedded.database import Database
from parley.turns.item_size import check_size
from parley.turns.ports import Clock, ConditionFailed, Index, IndexKey, Item
from parley.turns.records import blob_key

_COLUMNS: Final = (
    "partition, sort, body, version, expires_at, due_partition, due_sort, listed_partition, listed_sort"
)
_SCHEMA: Final = (
    """
    CREATE TABLE IF NOT EXISTS items (
        partition TEXT NOT NULL,
        sort TEXT NOT NULL,
        body TEXT NOT NULL,
        version INTEGER NOT NULL,
        expires_at INTEGER,
        due_partition TEXT,
        due_sort TEXT,
        listed_partition TEXT,
        listed_sort TEXT
    )
    """,
    # An index of its own, not the table's order: a row without one spills over to further pages from 1 KB on,
    # four times as many as are written here for a save of a conversation.
    "CREATE UNIQUE INDEX IF NOT EXISTS items_key ON items (partition, sort)",
    """
    CREATE INDEX IF NOT EXISTS items_due ON items (due_partition, due_sort)
        WHERE due_partition IS NOT NULL
    """,
    """
    CREATE INDEX IF NOT EXISTS items_listed ON items (listed_partition, listed_sort)
        WHERE listed_partition IS NOT NULL
    """,
    "CREATE INDEX IF NOT EXISTS items_expires ON items (expires_at) WHERE expires_at IS NOT NULL",
)

# Texts below are put together from constants of this module alone; values are always parameters.
_ALIVE: Final = "(expires_at IS NULL OR expires_at > ?)"
_GET: Final = f"SELECT {_COLUMNS} FROM items WHERE partition = ? AND sort = ?"
_INSERT: Final = (
    f"INSERT INTO items ({_COLUMNS}) VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?) ON CONFLICT (partition, sort)"
)
_TAKE_OVER: Final = (
    "UPDATE SET body = excluded.body, expires_at = excluded.expires_at,"
    " due_partition = excluded.due_partition, due_sort = excluded.due_sort,"
    " listed_partition = excluded.listed_partition, listed_sort = excluded.listed_sort"
)
_PUT_NEW: Final = f"{_INSERT} DO {_TAKE_OVER}, version = 1 WHERE items.expires_at <= ?"
_PUT_ANY: Final = f"{_INSERT} DO {_TAKE_OVER}, version = items.version + 1 RETURNING version"
_IS_VERSION: Final = f"WHERE partition = ? AND sort = ? AND version = ? AND {_ALIVE}"
# Leaves the three indexes alone, which halves what most writes cost.
_PUT_NEXT_BODY: Final = (
    f"UPDATE items SET body = ?, version = version + 1 {_IS_VERSION} AND expires_at IS ?"
    " AND due_partition IS ? AND due_sort IS ? AND listed_partition IS ? AND listed_sort IS ?"
)
_PUT_NEXT: Final = (
    "UPDATE items SET body = ?, version = version + 1, expires_at = ?, due_partition = ?, due_sort = ?,"
    f" listed_partition = ?, listed_sort = ? {_IS_VERSION}"
)
_DELETE: Final = "DELETE FROM items WHERE partition = ? AND sort = ?"
_DELETE_VERSION: Final = f"DELETE FROM items {_IS_VERSION}"
# A body that is a reference is short; the others need not be read.
_EXPIRED: Final = (
    "SELECT partition, sort, CASE WHEN length(body) < 2000 THEN body ELSE '' END FROM items"
    " WHERE expires_at <= ? LIMIT ?"
)
_PURGE: Final = "DELETE FROM items WHERE partition = ? AND sort = ? AND expires_at <= ?"


def _query_sql(order: str) -> str:
    return (
        f"SELECT {_COLUMNS} FROM items"
        f" WHERE partition = ? AND sort >= ? AND sort < ? AND {_ALIVE} ORDER BY sort {order} LIMIT ?"
    )


def _index_sql(index: Index, order: str) -> str:
    return (
        f"SELECT {_COLUMNS} FROM items"
        f" WHERE {index}_partition = ? AND {index}_sort >= ? AND {index}_sort < ? AND {_ALIVE}"
        f" ORDER BY {index}_sort {order}, partition {order}, sort {order} LIMIT ?"
    )


_QUERY: Final = {False: _query_sql("ASC"), True: _query_sql("DESC")}
_QUERY_INDEX: Final[dict[tuple[Index, bool], str]] = {
    ("due", False): _index_sql("due", "ASC"),
    ("due", True): _index_sql("due", "DESC"),
    ("listed", False): _index_sql("listed", "ASC"),
    ("listed", True): _index_sql("listed", "DESC"),
}

_AFTER_ALL: Final = b""
"""Any BLOB sorts after any TEXT: https://sqlite.org/datatype3.html#sort_order"""


class SqliteStore:
    """`parley.turns.ports.Store` in the table ``items`` of the embedded database.

    A write here is committed or it is not: there are no lost answers, so write ids are not kept.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        database.write(_create)

    def get(self, partition: str, sort: str) -> Item | None:
        """One row by its key."""
        row = self._database.read(lambda connection: connection.execute(_GET, (partition, sort)).fetchone())
        return None if row is None else self._alive(_item(row))

    def put(self, item: Item, *, if_version: int | None) -> Item:
        """One statement, or two; a failed condition reads the row that is there in the same transaction."""
        check_size(item)
        key = (item.partition, item.sort)
        indexed = (item.expires_at, *(item.due or (None, None)), *(item.listed or (None, None)))
        now = self._clock.now()

        def write(connection: sqlite3.Connection) -> int | Sequence[Any] | None:
            if if_version is None:
                rows = connection.execute(_PUT_ANY, (*key, item.body, *indexed)).fetchall()
                return rows[0][0]  # type: ignore[no-any-return]
            if if_version == 0:
                done = connection.execute(_PUT_NEW, (*key, item.body, *indexed, now)).rowcount
            else:
                condition = (*key, if_version, now)
                done = connection.execute(_PUT_NEXT_BODY, (item.body, *condition, *indexed)).rowcount
                done = done or connection.execute(_PUT_NEXT, (item.body, *indexed, *condition)).rowcount
            return if_version + 1 if done else _row(connection, key)

        outcome = self._database.write(write)
        if not isinstance(outcome, int):
            raise ConditionFailed(None if outcome is None else self._alive(_item(outcome)))
        return Item(*key, item.body, outcome, item.expires_at, item.due, item.listed)

    def delete(self, partition: str, sort: str, *, if_version: int | None = None) -> None:
        """One statement."""
        key = (partition, sort)
        now = self._clock.now()

        def write(connection: sqlite3.Connection) -> bool | Sequence[Any] | None:
            if if_version is None:
                connection.execute(_DELETE, key)
                return True
            if connection.execute(_DELETE_VERSION, (*key, if_version, now)).rowcount:
                return True
            return _row(connection, key)

        outcome = self._database.write(write)
        if outcome is not True:
            raise ConditionFailed(None if not outcome else self._alive(_item(outcome)))

    def query(
        self,
        partition: str,
        prefix: str,
        *,
        after: str | None = None,
        limit: int = 100,
        descending: bool = False,
    ) -> list[Item]:
        """One range of the primary key."""
        low, high = prefix, _end_of(prefix)
        if after and descending:
            high = after if high is None else min(high, after)
        elif after:
            low = max(low, _next_to(after))
        return self._select(_QUERY[descending], partition, low, high, limit)

    def query_index(
        self,
        index: Index,
        partition: str,
        *,
        after: str | None = None,
        until: str | None = None,
        limit: int = 100,
        descending: bool = False,
    ) -> list[Item]:
        """One range of a partial index."""
        if descending:
            low, high = until or "", after or None
        else:
            low, high = _next_to(after) if after else "", _next_to(until) if until else None
        return self._select(_QUERY_INDEX[index, descending], partition, low, high, limit)

    def purge_expired(self, forget_blob: Callable[[str], None], *, at_once: int = 500) -> int:
        """Remove all items whose time is over, ``at_once`` in a commit; how many it were.

        ``forget_blob`` is given the keys of the blobs behind them, before: cut off in between, it is done again.
        """
        now, purged = self._clock.now(), 0
        while True:
            rows = self._database.read(
                lambda connection: connection.execute(_EXPIRED, (now, at_once)).fetchall()
            )
            for key in filter(None, (blob_key(body) for _, _, body in rows)):
                forget_blob(key)
            self._delete_expired([(partition, sort, now) for partition, sort, _ in rows])
            purged += len(rows)
            if len(rows) < at_once:
                return purged

    def _delete_expired(self, keys: list[tuple[str, str, float]]) -> None:
        self._database.write(lambda connection: connection.executemany(_PURGE, keys).rowcount)

    def forget(self, prefix: str) -> int:
        """Remove all partitions whose name begins with ``prefix``, such as a former process's connections."""
        sql = "DELETE FROM items WHERE partition >= ? AND partition < ?"
        high = _end_of(prefix) or _AFTER_ALL
        return self._database.write(lambda connection: connection.execute(sql, (prefix, high)).rowcount)

    def _select(self, sql: str, partition: str, low: str, high: str | None, limit: int) -> list[Item]:
        """Items from ``low`` on and before ``high``."""
        values = (partition, low, _AFTER_ALL if high is None else high, self._clock.now(), max(limit, 0))
        rows = self._database.read(lambda connection: connection.execute(sql, values).fetchall())
        return [_item(row) for row in rows]

    def _alive(self, item: Item) -> Item | None:
        return None if item.expires_at is not None and item.expires_at <= self._clock.now() else item


def _create(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA:
        connection.execute(statement)


def _row(connection: sqlite3.Connection, key: tuple[str, str]) -> Sequence[Any] | None:
    return connection.execute(_GET, key).fetchone()  # type: ignore[no-any-return]


def _item(row: Sequence[Any]) -> Item:
    partition, sort, body, version, expires_at, due_partition, due_sort, listed_partition, listed_sort = row
    return Item(
        partition,
        sort,
        body,
        version,
        expires_at,
        None if due_partition is None else IndexKey(due_partition, due_sort),
        None if listed_partition is None else IndexKey(listed_partition, listed_sort),
    )


def _next_to(text: str) -> str:
    """The very next string after ``text``, in the order of their bytes."""
    return text + "\x00"


def _end_of(prefix: str) -> str | None:
    """The first string after all that begin with ``prefix``; None if there is none."""
    while prefix:
        last = ord(prefix[-1])
        if last < 0x10FFFF:
            # Surrogates are no characters of their own: UTF-8 has none.
            return prefix[:-1] + chr(0xE000 if last == 0xD7FF else last + 1)
        prefix = prefix[:-1]
    return None
