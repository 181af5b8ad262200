from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.aws import clients
from parley.aws.blobs import S3Blobs
from parley.aws.store import DynamoStore
from parley.clock import MovableClock
from parley.embedded.blobs import FolderBlobs
from parley.embedded.database import Database
from parley.embedded.store import SqliteStore
from parley.turns.ports import Blobs, Store
from tests.support.moto_aws import MockedAws, mocked_aws

ADAPTERS = ("embedded", "aws")


@pytest.fixture(scope="module")
def aws() -> Iterator[MockedAws]:
    with mocked_aws(pace=0.02) as account:
        yield account


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "parley.db")
    yield database
    database.close()


@pytest.fixture(params=ADAPTERS)
def store(request: pytest.FixtureRequest, clock: MovableClock) -> Store:
    if request.param == "embedded":
        return SqliteStore(request.getfixturevalue("database"), clock)
    account: MockedAws = request.getfixturevalue("aws")
    table = account.create_table(f"items-{uuid.uuid4().hex}")
    return DynamoStore(clients.dynamodb(account.session), table, clock)


@pytest.fixture(params=ADAPTERS)
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "embedded":
        return FolderBlobs(tmp_path / "blobs")
    account: MockedAws = request.getfixturevalue("aws")
    bucket = f"blobs-{uuid.uuid4().hex}"
    account.client("s3").create_bucket(
        Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": account.region}
    )
    return S3Blobs(clients.s3(account.session), bucket)
