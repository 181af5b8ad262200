"""What function packs keep in the store: races, lists, versions."""

import pytest

from parley.domain.errors import SaveConflict
from parley.tools.data import ProjectData
from parley.turns.ports import Item
from tests.support.memory_store import MemoryStore


class RacingStore(MemoryStore):
    """Another writer is faster, a number of times."""

    def __init__(self, races: int) -> None:
        super().__init__()
        self.races = races

    def put(self, item: Item, *, if_version: int | None) -> Item:
        if if_version is not None and self.races:
            self.races -= 1
            current = self.get(item.partition, item.sort)
            count = 0 if current is None else int(current.body)
            super().put(Item(item.partition, item.sort, str(count + 100)), if_version=None)
        return super().put(item, if_version=if_version)


def test_an_update_is_made_again_when_another_writer_was_faster() -> None:
    data = ProjectData(RacingStore(races=2), "p", "pack")
    assert data.update("count", lambda value: (value or 0) + 1) == 201


def test_an_update_gives_up_in_the_end() -> None:
    data = ProjectData(RacingStore(races=99), "p", "pack")
    with pytest.raises(SaveConflict):
        data.update("count", lambda value: (value or 0) + 1)


def test_an_update_that_changes_nothing_writes_nothing() -> None:
    store = MemoryStore()
    data = ProjectData(store, "p", "pack")
    data.put("a", {"x": 1})
    assert data.update("a", lambda value: value) == {"x": 1}
    assert store.puts == 1


def test_all_entries_are_listed_however_many() -> None:
    data = ProjectData(MemoryStore(), "p", "pack")
    for number in range(250):
        data.put(f"n/{number:04d}", number)
    data.put("other", 1)
    assert [entry.value for entry in data.list("n/")] == list(range(250))


def test_a_put_with_a_version_tells_whether_it_was_kept() -> None:
    data = ProjectData(MemoryStore(), "p", "pack")
    assert data.put("a", 1, if_version=0) is not None
    assert data.put("a", 2, if_version=0) is None
    entry = data.get("a")
    assert entry is not None
    assert (entry.value, entry.version) == (1, 1)
    data.delete("a")
    assert data.get("a") is None
