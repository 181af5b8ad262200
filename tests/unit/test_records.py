"""Values in the store: written once or over, and in a blob when an item has no room for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from parley.clock import MovableClock
from parley.domain.values import Value
from parley.embedded.blobs import FolderBlobs
from parley.turns.ports import ConditionFailed
from parley.turns.records import load, put, put_once, whole_body
from parley.turns.runtime import DAY, Runtime, Settings
from tests.support.faulty import FaultyOrchestrator, NobodyListens, OutsideSystem, TalkingProvider
from tests.support.memory_store import MemoryStore
from tests.support.models import OneProvider
from tests.support.stepper import Stepper


class Note(Value):
    text: str


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    clock = MovableClock()
    return Runtime(
        store=MemoryStore(),
        blobs=FolderBlobs(tmp_path),
        orchestrator=FaultyOrchestrator(Stepper(lambda payload: None, clock)),
        pusher=NobodyListens(),
        clock=clock,
        providers=OneProvider(TalkingProvider()),
        functions=OutsideSystem(),
        settings=Settings(inline_limit=100),
    )


def test_a_value_reads_back_with_its_version(runtime: Runtime) -> None:
    put(runtime, "P", "s", Note(text="é ☃"), if_version=0)
    put(runtime, "P", "s", Note(text="later"), if_version=1)
    stored = load(runtime, "P", "s", Note)
    assert stored is not None
    assert (stored.value.text, stored.version) == ("later", 2)
    assert load(runtime, "P", "other", Note) is None


def test_whoever_writes_once_first_wins_and_the_other_gets_what_is_there(runtime: Runtime) -> None:
    assert put_once(runtime, "P", "s", Note(text="first")).text == "first"
    assert put_once(runtime, "P", "s", Note(text="second")).text == "first"


def test_a_write_on_condition_of_another_version_is_refused(runtime: Runtime) -> None:
    put(runtime, "P", "s", Note(text="a"), if_version=0)
    with pytest.raises(ConditionFailed):
        put(runtime, "P", "s", Note(text="b"), if_version=2)


@pytest.mark.parametrize("text", ["x" * 101, "☃" * 40])
def test_a_body_over_the_limit_in_bytes_lies_in_a_blob_and_reads_back_whole(
    runtime: Runtime, text: str
) -> None:
    put(runtime, "P", "s", Note(text=text), if_version=0)
    item = runtime.store.get("P", "s")
    assert item is not None
    assert item.body.startswith('{"$blob":')
    stored = load(runtime, "P", "s", Note)
    assert stored is not None
    assert stored.value.text == text
    assert put_once(runtime, "P", "s", Note(text="y" * 200)).text == text


@pytest.mark.parametrize(
    ("lasts", "folder"), [(None, "items"), (30 * DAY, "expiring"), (31 * DAY, "expiring-after-a-wait")]
)
def test_a_large_value_that_expires_lies_where_a_rule_of_the_bucket_takes_it_in_time(
    runtime: Runtime, lasts: float | None, folder: str
) -> None:
    until = None if lasts is None else int(runtime.clock.now() + lasts)
    put(runtime, "P", "s", Note(text="x" * 200), if_version=0, expires_at=until)
    (blob,) = runtime.blobs.list_keys("")
    assert blob.key.split("/")[0] == folder


def test_two_large_values_under_one_key_do_not_overwrite_each_others_blob(runtime: Runtime) -> None:
    put_once(runtime, "P", "s", Note(text="a" * 200))
    put_once(runtime, "P", "s", Note(text="b" * 200))
    stored = load(runtime, "P", "s", Note)
    assert stored is not None
    assert stored.value.text == "a" * 200


def test_a_missing_blob_is_an_error_that_names_its_item(runtime: Runtime) -> None:
    put(runtime, "P", "s", Note(text="a" * 200), if_version=0)
    for blob in runtime.blobs.list_keys(""):
        runtime.blobs.delete(blob.key)
    item = runtime.store.get("P", "s")
    assert item is not None
    with pytest.raises(LookupError, match="P s"):
        whole_body(runtime, item)


def test_a_body_at_the_limit_stays_in_its_item(runtime: Runtime) -> None:
    body = Note(text="x" * (100 - len(Note(text="").model_dump_json())))
    put(runtime, "P", "s", body, if_version=0)
    item = runtime.store.get("P", "s")
    assert item is not None
    assert item == replace(item, body=body.model_dump_json())
