from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from parley.clock import MovableClock
from parley.turns.item_size import MAX_ITEM_BYTES, ItemTooLarge
from parley.turns.ports import ConditionFailed, Index, IndexKey, Item, Store


def item(sort: str = "a", body: str = "{}", *, partition: str = "p") -> Item:
    return Item(partition, sort, body)


def sorts(items: list[Item]) -> list[str]:
    return [each.sort for each in items]


def fill(store: Store, *keys: str) -> None:
    for key in keys:
        store.put(item(key), if_version=0)


def soon(clock: MovableClock, seconds: int = 10) -> int:
    return int(clock.now()) + seconds


def failed(store: Store, new: Item, *, if_version: int | None) -> Item | None:
    with pytest.raises(ConditionFailed) as caught:
        store.put(new, if_version=if_version)
    return caught.value.stored


def test_what_was_never_stored_is_none(store: Store) -> None:
    assert store.get("p", "a") is None


def test_an_item_comes_back_whole(store: Store, clock: MovableClock) -> None:
    body = '{"n": 0.1, "big": 12345678901234567890123, "empty": "", "nul": "\\u0000", "é": "日本 🎈"}'
    new = Item(
        "p#é", "s/🎈", body, expires_at=soon(clock), due=IndexKey("D", "1"), listed=IndexKey("L", "🎈")
    )
    stored = store.put(new, if_version=0)
    assert stored == replace(new, version=1)
    assert store.get("p#é", "s/🎈") == stored


def test_an_item_is_created_once_and_the_second_writer_gets_the_first_ones(store: Store) -> None:
    first = store.put(item(body="1"), if_version=0)
    assert failed(store, item(body="2"), if_version=0) == first
    assert store.get("p", "a") == first


def test_a_write_over_the_version_that_was_read_counts_on(store: Store) -> None:
    first = store.put(item(body="1"), if_version=0)
    second = store.put(replace(first, body="2"), if_version=first.version)
    assert (second.version, second.body) == (2, "2")
    assert store.get("p", "a") == second


def test_a_write_over_an_older_version_changes_nothing(store: Store) -> None:
    first = store.put(item(body="1"), if_version=0)
    second = store.put(replace(first, body="2"), if_version=1)
    assert failed(store, replace(first, body="3"), if_version=1) == second
    assert store.get("p", "a") == second


def test_a_write_over_a_version_of_nothing_fails_with_nothing(store: Store) -> None:
    assert failed(store, item(), if_version=3) is None
    assert store.get("p", "a") is None


def test_a_write_without_condition_creates_and_replaces(store: Store) -> None:
    assert store.put(item(body="1"), if_version=None).version == 1
    assert store.put(item(body="2"), if_version=None).version == 2
    stored = store.get("p", "a")
    assert stored is not None
    assert (stored.body, stored.version) == ("2", 2)


def test_a_write_without_condition_is_seen_by_those_with_one(store: Store) -> None:
    first = store.put(item(body="1"), if_version=0)
    second = store.put(item(body="2"), if_version=None)
    assert failed(store, replace(first, body="3"), if_version=1) == second


@pytest.mark.parametrize("if_version", [1, None])
def test_what_a_write_leaves_out_is_gone(store: Store, clock: MovableClock, if_version: int | None) -> None:
    full = replace(item(), expires_at=soon(clock), due=IndexKey("D", "1"), listed=IndexKey("L", "1"))
    store.put(full, if_version=0)
    store.put(item(body="2"), if_version=if_version)
    assert store.get("p", "a") == Item("p", "a", "2", 2)
    assert store.query_index("due", "D") == []
    assert store.query_index("listed", "L") == []


def test_from_its_second_of_expiry_on_an_item_is_absent(store: Store, clock: MovableClock) -> None:
    store.put(
        replace(item(), expires_at=soon(clock), due=IndexKey("D", "1"), listed=IndexKey("L", "1")),
        if_version=0,
    )
    clock.advance(9)
    assert store.get("p", "a") is not None
    clock.advance(1)
    assert store.get("p", "a") is None
    assert store.query("p", "") == []
    assert store.query_index("due", "D") == []
    assert store.query_index("listed", "L") == []


def test_an_expired_item_is_no_obstacle_and_no_base(store: Store, clock: MovableClock) -> None:
    store.put(replace(item(body="1"), expires_at=soon(clock)), if_version=0)
    clock.advance(10)
    assert failed(store, item(body="2"), if_version=1) is None
    with pytest.raises(ConditionFailed):
        store.delete("p", "a", if_version=1)
    assert store.put(item(body="3"), if_version=0).version == 1
    assert store.get("p", "a") == Item("p", "a", "3", 1)


def test_an_expired_item_may_be_overwritten(store: Store, clock: MovableClock) -> None:
    store.put(replace(item(body="1"), expires_at=soon(clock)), if_version=0)
    clock.advance(10)
    stored = store.put(item(body="2"), if_version=None)
    assert store.get("p", "a") == stored
    assert stored.body == "2"


def test_a_query_gives_what_begins_with_the_prefix_in_order(store: Store) -> None:
    fill(store, "b#2", "b#10", "a", "b", "b#1", "c", "B#3", "b#é", "b#🎈", "b#\uffff")
    store.put(item("b#9", partition="q"), if_version=0)
    assert sorts(store.query("p", "b#")) == ["b#1", "b#10", "b#2", "b#é", "b#\uffff", "b#🎈"]
    assert sorts(store.query("p", "b#", descending=True)) == ["b#🎈", "b#\uffff", "b#é", "b#2", "b#10", "b#1"]
    assert sorts(store.query("p", "")) == sorted(
        ["b#2", "b#10", "a", "b", "b#1", "c", "B#3", "b#é", "b#🎈", "b#\uffff"]
    )


def test_a_prefix_is_no_pattern(store: Store) -> None:
    fill(store, "a%b", "axb", "a_b", "a*b")
    assert sorts(store.query("p", "a%")) == ["a%b"]
    assert sorts(store.query("p", "a_")) == ["a_b"]


def test_a_query_reads_on_after_a_key_that_need_not_exist(store: Store) -> None:
    fill(store, "a", "b#1", "b#3", "b#5", "c")
    assert sorts(store.query("p", "b#", after="b#3")) == ["b#5"]
    assert sorts(store.query("p", "b#", after="b#2")) == ["b#3", "b#5"]
    assert sorts(store.query("p", "b#", after="b#3", descending=True)) == ["b#1"]
    assert sorts(store.query("p", "b#", after="b#4", descending=True)) == ["b#3", "b#1"]


def test_a_query_reads_on_after_a_key_outside_its_prefix(store: Store) -> None:
    fill(store, "a", "b#1", "b#2", "c")
    assert sorts(store.query("p", "b#", after="a")) == ["b#1", "b#2"]
    assert sorts(store.query("p", "b#", after="c")) == []
    assert sorts(store.query("p", "b#", after="c", descending=True)) == ["b#2", "b#1"]
    assert sorts(store.query("p", "b#", after="a", descending=True)) == []
    assert sorts(store.query("p", "", after="b#2")) == ["c"]
    assert sorts(store.query("p", "", after="b#1", descending=True)) == ["a"]


def test_a_query_keeps_its_limit(store: Store, clock: MovableClock) -> None:
    fill(store, "1", "3", "5", "7")
    for gone in ("2", "4"):
        store.put(replace(item(gone), expires_at=soon(clock)), if_version=0)
    clock.advance(10)
    assert sorts(store.query("p", "", limit=3)) == ["1", "3", "5"]
    assert sorts(store.query("p", "", limit=3, after="5")) == ["7"]
    assert sorts(store.query("p", "", limit=2, descending=True)) == ["7", "5"]
    assert store.query("p", "", limit=0) == []


@pytest.mark.parametrize("index", ["due", "listed"])
def test_an_index_gives_its_items_in_its_own_order(store: Store, index: Index) -> None:
    for sort, at in {"x": "3", "y": "1", "z": "2"}.items():
        entry = IndexKey("I", at)
        store.put(
            replace(item(sort, body=f'"{at}"'), due=entry)
            if index == "due"
            else replace(item(sort, body=f'"{at}"'), listed=entry),
            if_version=0,
        )
    store.put(item("not in it"), if_version=0)
    found = store.query_index(index, "I")
    assert sorts(found) == ["y", "z", "x"]
    assert found[0] == store.get("p", "y")
    assert sorts(store.query_index(index, "I", descending=True)) == ["x", "z", "y"]
    assert sorts(store.query_index(index, "I", limit=2)) == ["y", "z"]
    assert store.query_index(index, "other") == []
    assert store.query_index("listed" if index == "due" else "due", "I") == []


def test_an_index_is_read_after_one_key_and_until_another(store: Store) -> None:
    for at in ("1", "3", "3", "5"):
        sort = f"{at}{'' if store.get('p', at) is None else 'b'}"
        store.put(replace(item(sort), listed=IndexKey("L", at)), if_version=0)

    def read(**bounds: str | int | bool) -> list[str]:
        return sorts(store.query_index("listed", "L", **bounds))  # type: ignore[arg-type]

    assert sorted(read(after="1", until="3")) == ["3", "3b"]
    assert read(after="3") == ["5"]
    assert read(after="2", until="2") == []
    assert read(after="4", until="2") == []
    assert read(until="1") == ["1"]
    assert read(after="3", descending=True) == ["1"]
    assert sorted(read(after="5", until="3", descending=True)) == ["3", "3b"]
    assert read(after="1", limit=1)[0] in {"3", "3b"}
    assert len(read(after="1", limit=3)) == 3


def test_an_item_moves_within_its_index(store: Store) -> None:
    first = store.put(replace(item(), listed=IndexKey("L", "1")), if_version=0)
    fill(store, "b")
    store.put(replace(first, listed=IndexKey("L", "2")), if_version=1)
    assert [each.listed for each in store.query_index("listed", "L")] == [IndexKey("L", "2")]
    store.put(replace(first, listed=IndexKey("M", "2")), if_version=2)
    assert store.query_index("listed", "L") == []


def test_more_index_entries_than_one_batch_are_all_read(store: Store) -> None:
    for number in range(130):
        store.put(replace(item(f"{number:03d}"), due=IndexKey("D", f"{number:03d}")), if_version=0)
    assert len(store.query_index("due", "D", limit=125)) == 125
    assert len(store.query_index("due", "D", limit=1000)) == 130


def test_a_deleted_item_is_gone_everywhere(store: Store) -> None:
    store.put(replace(item(), due=IndexKey("D", "1")), if_version=0)
    store.delete("p", "a")
    store.delete("p", "a")
    assert store.get("p", "a") is None
    assert store.query_index("due", "D") == []
    assert store.put(item(), if_version=0).version == 1


def test_one_of_two_deletes_of_a_version_wins(store: Store) -> None:
    first = store.put(item(body="1"), if_version=0)
    second = store.put(replace(first, body="2"), if_version=1)
    with pytest.raises(ConditionFailed) as caught:
        store.delete("p", "a", if_version=1)
    assert caught.value.stored == second
    store.delete("p", "a", if_version=2)
    with pytest.raises(ConditionFailed) as caught:
        store.delete("p", "a", if_version=2)
    assert caught.value.stored is None


def test_an_item_larger_than_any_store_takes_is_a_clear_error(store: Store) -> None:
    with pytest.raises(ItemTooLarge, match="use a blob"):
        store.put(item(body='"' + "x" * MAX_ITEM_BYTES + '"'), if_version=0)
    assert store.put(item(body='"' + "é" * 190_000 + '"'), if_version=0).version == 1


def test_writers_at_the_same_time_lose_nothing(store: Store) -> None:
    store.put(item(body="0"), if_version=0)

    def count_on(_: int) -> None:
        for _ in range(3):
            stored = store.get("p", "a")
            while stored is not None:
                try:
                    store.put(replace(stored, body=str(int(stored.body) + 1)), if_version=stored.version)
                    break
                except ConditionFailed as conflict:
                    stored = conflict.stored

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(count_on, range(6)))
    assert store.get("p", "a") == Item("p", "a", "18", 19)
