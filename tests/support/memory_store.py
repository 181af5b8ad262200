"""A store in memory, for tests of what stands above the port."""

from dataclasses import replace

from parley.turns.ports import ConditionFailed, Index, Item


class MemoryStore:
    """Implements Store. Nothing expires; ``puts`` counts the writes that were kept."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Item] = {}
        self.puts = 0

    def get(self, partition: str, sort: str) -> Item | None:
        return self.items.get((partition, sort))

    def put(self, item: Item, *, if_version: int | None) -> Item:
        stored = self.items.get((item.partition, item.sort))
        version = 0 if stored is None else stored.version
        if if_version is not None and version != if_version:
            raise ConditionFailed(stored)
        kept = replace(item, version=version + 1)
        self.items[item.partition, item.sort] = kept
        self.puts += 1
        return kept

    def query(
        self,
        partition: str,
        prefix: str,
        *,
        after: str | None = None,
        limit: int = 100,
        descending: bool = False,
    ) -> list[Item]:
        sorts = sorted((sort for of, sort in self.items if of == partition and sort.startswith(prefix)))
        if descending:
            sorts.reverse()
        if after is not None:
            sorts = [sort for sort in sorts if (sort < after if descending else sort > after)]
        return [self.items[partition, sort] for sort in sorts[:limit]]

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
        found: list[tuple[str, Item]] = []
        for item in self.items.values():
            key = item.due if index == "due" else item.listed
            if key is not None and key.partition == partition:
                found.append((key.sort, item))
        found.sort(key=lambda pair: pair[0], reverse=descending)
        if after is not None:
            found = [pair for pair in found if (pair[0] < after if descending else pair[0] > after)]
        if until is not None:
            found = [pair for pair in found if (pair[0] >= until if descending else pair[0] <= until)]
        return [item for _, item in found[:limit]]

    def delete(self, partition: str, sort: str, *, if_version: int | None = None) -> None:
        stored = self.items.get((partition, sort))
        if if_version is not None and (stored is None or stored.version != if_version):
            raise ConditionFailed(stored)
        self.items.pop((partition, sort), None)
