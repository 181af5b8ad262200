from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.statemachine.interpreter_stage import Make, Stage
from tests.statemachine.interpreter_world import MACHINES, Functions


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Stage] = []

    def make(machine: dict[str, Any], functions: Callable[[str, Any], Any], **options: Any) -> Stage:
        made.append(Stage(tmp_path, {"main": machine}, functions, **options))
        return made[-1]

    yield make
    for stage in made:
        stage.close()


@pytest.fixture
def functions() -> Functions:
    return Functions()


@pytest.fixture
def stage(tmp_path: Path, functions: Functions) -> Iterator[Stage]:
    made = Stage(tmp_path, MACHINES, functions)
    yield made
    made.close()
