"""Any sequence of operations: the store says what a dictionary with the port's rules says."""

from __future__ import annotations

import tempfile
import uuid
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from parley.aws import clients
from parley.aws.store import DynamoStore
from parley.clock import MovableClock
from parley.embedded.database import Database
from parley.embedded.store import SqliteStore
from parley.turns.ports import ConditionFailed, Index, IndexKey, Item, Store
from tests.support.moto_aws import mocked_aws

PARTITIONS = st.sampled_from(["p", "q"])
SORTS = st.sampled_from(["a", "a#1", "a#2", "a#é", "a$", "b", "b#1"])
PREFIXES = st.sampled_from(["", "a", "a#", "b#", "c"])
ENTRIES = st.none() | st.builds(IndexKey, st.sampled_from(["I", "J"]), st.sampled_from(["1", "2", "3"]))
LIMITS = st.integers(1, 4)


class StoreModel(RuleBasedStateMachine):
    """``items`` holds what a reader has to see, expired items included; ``clock`` tells which those are."""

    backend: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.clock = MovableClock()
        self.items: dict[tuple[str, str], Item] = {}
        self.resources = ExitStack()
        self.store: Store

    @initialize()
    def open(self) -> None:
        raise NotImplementedError

    def teardown(self) -> None:
        self.resources.close()

    def seen(self, partition: str, sort: str) -> Item | None:
        item = self.items.get((partition, sort))
        return None if item is None or self.over(item) else item

    def over(self, item: Item) -> bool:
        return item.expires_at is not None and item.expires_at <= self.clock.now()

    @rule(
        partition=PARTITIONS,
        sort=SORTS,
        body=st.integers(0, 99),
        lasts=st.none() | st.integers(1, 5),
        due=ENTRIES,
        listed=ENTRIES,
        read=st.sampled_from(["nothing", "current", "older", "unread"]),
    )
    def put(
        self,
        partition: str,
        sort: str,
        body: int,
        lasts: int | None,
        due: IndexKey | None,
        listed: IndexKey | None,
        read: str,
    ) -> None:
        present = self.seen(partition, sort)
        version = 0 if present is None else present.version
        if_version = {"nothing": 0, "current": version, "older": max(version - 1, 0), "unread": None}[read]
        expires_at = None if lasts is None else int(self.clock.now()) + lasts
        new = Item(partition, sort, str(body), 0, expires_at, due, listed)
        try:
            stored = self.store.put(new, if_version=if_version)
        except ConditionFailed as conflict:
            refused, found = True, conflict.stored
        else:
            refused, found = False, stored
        assert refused == (if_version not in (None, version))
        if refused:
            assert found == present
        else:
            left = self.items.get((partition, sort))
            may_count_on = if_version is None and present is None and left is not None
            assert stored.version == version + 1 or may_count_on
            assert stored == replace(new, version=stored.version)
            self.items[partition, sort] = stored

    @rule(partition=PARTITIONS, sort=SORTS, read=st.sampled_from(["current", "older", "unread"]))
    def delete(self, partition: str, sort: str, read: str) -> None:
        present = self.seen(partition, sort)
        version = 1 if present is None else present.version
        if_version = {"current": version, "older": version - 1, "unread": None}[read]
        try:
            self.store.delete(partition, sort, if_version=if_version)
        except ConditionFailed as conflict:
            refused, found = True, conflict.stored
        else:
            refused, found = False, None
            self.items.pop((partition, sort), None)
        assert refused == (if_version is not None and (present is None or if_version != version))
        assert found == (present if refused else None)

    @rule(seconds=st.integers(1, 3))
    def time_passes(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(
        partition=PARTITIONS, prefix=PREFIXES, after=st.none() | SORTS, limit=LIMITS, descending=st.booleans()
    )
    def query(self, partition: str, prefix: str, after: str | None, limit: int, descending: bool) -> None:
        expected = [
            item
            for item in sorted(self.items.values(), key=lambda each: each.sort, reverse=descending)
            if item.partition == partition
            and item.sort.startswith(prefix)
            and (after is None or (item.sort < after if descending else item.sort > after))
            and not self.over(item)
        ]
        found = self.store.query(partition, prefix, after=after, limit=limit, descending=descending)
        assert found == expected[:limit]

    @rule(
        index=st.sampled_from(["due", "listed"]),
        after=st.none() | st.sampled_from(["0", "1", "2"]),
        until=st.none() | st.sampled_from(["1", "2", "3"]),
        descending=st.booleans(),
    )
    def query_index(self, index: Index, after: str | None, until: str | None, descending: bool) -> None:
        def within(at: str) -> bool:
            low, high = (until, after) if descending else (after, until)
            above = low is None or at > low or (descending and at == low)
            below = high is None or at < high or (not descending and at == high)
            return above and below

        expected: list[tuple[str, Item]] = []
        for item in self.items.values():
            entry: IndexKey | None = getattr(item, index)
            if entry and entry.partition == "I" and within(entry.sort) and not self.over(item):
                expected.append((entry.sort, item))
        found = self.store.query_index(index, "I", after=after, until=until, descending=descending)
        positions = [getattr(item, index).sort for item in found]
        assert positions == sorted(positions, reverse=descending)
        assert sorted(found, key=_key) == sorted((item for _, item in expected), key=_key)

    @invariant()
    def readers_see_the_last_write(self) -> None:
        for partition, sort in self.items:
            assert self.store.get(partition, sort) == self.seen(partition, sort)


def _key(item: Item) -> Any:
    return item.partition, item.sort


class SqliteModel(StoreModel):
    @initialize()
    def open(self) -> None:
        folder = self.resources.enter_context(tempfile.TemporaryDirectory())
        database = Database(Path(folder) / "parley.db")
        self.resources.callback(database.close)
        self.store = SqliteStore(database, self.clock)

    @rule()
    def purge(self) -> None:
        assert isinstance(self.store, SqliteStore)
        over = [key for key, item in self.items.items() if self.over(item)]
        assert self.store.purge_expired(lambda key: None, at_once=2) == len(over)
        for key in over:
            del self.items[key]


class DynamoModel(StoreModel):
    @initialize()
    def open(self) -> None:
        aws = self.resources.enter_context(mocked_aws())
        table = aws.create_table(f"items-{uuid.uuid4().hex}")
        self.store = DynamoStore(clients.dynamodb(aws.session), table, self.clock)


TestSqliteModel = SqliteModel.TestCase
TestSqliteModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestDynamoModel = DynamoModel.TestCase
TestDynamoModel.settings = settings(
    max_examples=8, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
