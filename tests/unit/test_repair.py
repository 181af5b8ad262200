"""A pass of repair over threads that fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import ValidationError

from parley.domain import keys
from parley.domain.conversation import WATCHDOG_SECONDS
from parley.turns.ports import IndexKey, Item
from parley.turns.repair import repair_due
from tests.faults.world import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    world.begin()
    yield world
    world.close()


def test_a_thread_that_cannot_be_repaired_hides_no_other(world: World) -> None:
    first = IndexKey(keys.DUE_SHARDS[0], "0" * 15)
    broken = Item(keys.thread_partition("broken"), keys.CONVERSATION, "{}", due=first)
    world.store.put(broken, if_version=0)
    assert {kind for kind, _ in world.take_signals()} == {"start"}
    world.time_passes(WATCHDOG_SECONDS)
    with pytest.raises(ValidationError):
        repair_due(world.runtime)
    assert [kind for kind, _ in world.orchestrator.sent] == ["start"]
    world.store.delete(broken.partition, broken.sort)
