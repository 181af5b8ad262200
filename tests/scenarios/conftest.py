from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.moto_aws import MockedAws, mocked_aws
from tests.support.systems import BACKENDS, System, aws_system, create_machine, embedded_system


@pytest.fixture(scope="module")
def account() -> Iterator[tuple[MockedAws, str]]:
    """One account per module, because making one takes a second; each test has a project of its own."""
    with mocked_aws(pace=0.02) as aws:
        yield aws, create_machine(aws)


@pytest.fixture(params=BACKENDS)
def system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[System]:
    if request.param == "embedded":
        with embedded_system(tmp_path) as system:
            yield system
        return
    aws, machine = request.getfixturevalue("account")
    with aws_system(aws, machine, f"p-{uuid.uuid4().hex[:8]}") as system:
        yield system


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[System]:
    with embedded_system(tmp_path) as system:
        yield system
