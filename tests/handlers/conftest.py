from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.handlers.world import World
from tests.support.backends import embedded_system


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with embedded_system(tmp_path_factory.mktemp("world")) as system:
        yield World(system)
