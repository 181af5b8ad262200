from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.elsewhere import Elsewhere, elsewhere_of
from tests.support.backends import BACKENDS, Account, aws_system, embedded_system, set_up
from tests.support.mcp_server import ToolServer, tool_server
from tests.support.moto_aws import mocked_aws
from tests.support.systems import System


@pytest.fixture(scope="package")
def account() -> Iterator[Account]:
    """One account for all; each test has a project of its own in it."""
    with mocked_aws(pace=0.02) as aws:
        yield set_up(aws)


@pytest.fixture(params=BACKENDS)
def system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[System]:
    """Either backend. What moto takes too long for is parametrized with ``system`` itself, or asks for ``embedded``."""
    if request.param == "embedded":
        with embedded_system(tmp_path) as system:
            yield system
        return
    with aws_system(request.getfixturevalue("account"), f"p-{uuid.uuid4().hex[:8]}") as system:
        yield system


@pytest.fixture(scope="module")
def shared_tools() -> Iterator[ToolServer]:
    with tool_server() as running:
        yield running


@pytest.fixture
def elsewhere(
    system: System, shared_tools: ToolServer, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Elsewhere]:
    account = request.getfixturevalue("account") if system.backend == "aws" else None
    with elsewhere_of(system, shared_tools, account, monkeypatch) as there:
        yield there


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[System]:
    with embedded_system(tmp_path) as system:
        yield system
