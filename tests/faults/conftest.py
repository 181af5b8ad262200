from collections.abc import Iterator

import pytest

from tests.faults.world import World


@pytest.fixture
def world() -> Iterator[World]:
    """A conversation whose first message waits. After the test it comes to rest, and all of it is checked."""
    world = World()
    world.begin()
    yield world
    world.close()
