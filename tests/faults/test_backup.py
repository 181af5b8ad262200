"""A backup that is made while somebody works on the folder can be served as it is."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from parley import wiring
from parley.cli import main as cli
from parley.domain.errors import StorageError
from parley.domain.values import Value
from parley.embedded.backup import back_up
from parley.installation import Installation
from parley.turns import records

PARTITION = "THREAD#copied"


class Text(Value):
    text: str


def opened(folder: Path) -> Installation:
    return wiring.embedded(folder, demo_user=None)


def write(installation: Installation, number: int) -> None:
    """Something that is too large for an item."""
    text = Text(text=f"{number:03d}" * 80_000)
    records.put(installation.runtime, PARTITION, f"{number:03d}", text, if_version=0)


def read(installation: Installation) -> list[str]:
    items = installation.store.query(PARTITION, "")
    return [records.parse(installation.runtime, item, Text).value.text[:3] for item in items]


def test_a_backup_has_what_was_saved_before_it_and_every_blob_that_it_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, target = tmp_path / "data", tmp_path / "backup"
    stop = threading.Event()

    def go_on_writing() -> None:
        number = 3
        while not stop.is_set():
            write(installation, number)
            number += 1

    with closing(opened(data)) as installation:
        for number in range(3):
            write(installation, number)
        writer = threading.Thread(target=go_on_writing)
        writer.start()
        try:
            assert cli.main(["backup", str(target), "--data", str(data)]) == 0
        finally:
            stop.set()
            writer.join()
    assert capsys.readouterr().out.startswith(f"{data} is backed up in {target} (")
    assert stat.S_IMODE(target.stat().st_mode) == 0o700
    assert (target / "issuer.pem").read_bytes() == (data / "issuer.pem").read_bytes()
    with closing(opened(target)) as copy:
        found = read(copy)
    assert found == [f"{number:03d}" for number in range(len(found))]
    assert len(found) >= 3


def test_a_backup_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, target = tmp_path / "data", tmp_path / "backup"
    with pytest.raises(StorageError, match=r"no data folder: there is no parley\.db"):
        back_up(data, target)
    with closing(opened(data)) as installation:
        write(installation, 0)

    def breaks(source: Path, to: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(shutil, "copy2", breaks)
        with pytest.raises(StorageError, match="backup cannot be written: the disk is full"):
            back_up(data, target)
    assert [each.name for each in tmp_path.iterdir()] == ["data"]

    back_up(data, target)
    with pytest.raises(StorageError, match="backup is there already: choose a new folder"):
        back_up(data, target)
    with closing(opened(target)) as copy:
        assert read(copy) == ["000"]


def test_a_damaged_database_is_no_backup(tmp_path: Path) -> None:
    (tmp_path / "parley.db").write_bytes(b"nothing of SQLite's" * 100)
    with pytest.raises(StorageError, match=r"cannot be copied to .*not a SQLite database") as raised:
        back_up(tmp_path, tmp_path / "backup")
    assert isinstance(raised.value.__cause__, sqlite3.Error)
    assert [each.name for each in tmp_path.iterdir()] == ["parley.db"]
