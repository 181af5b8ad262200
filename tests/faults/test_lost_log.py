"""What becomes of a data folder whose write-ahead log is not the one that it had, or that another Parley wrote."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from parley import wiring
from parley.clock import MovableClock
from parley.domain.errors import StorageError
from parley.embedded.data_file import FORMAT, open_data_file
from parley.embedded.database import Database
from parley.embedded.store import SqliteStore
from parley.turns.ports import Item

NAME = "parley.db"
WORDS = "changes that were saved are missing"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """One that holds a page more with every ``add``."""
    opened = open_data_file(tmp_path / "data" / NAME, "NORMAL")
    opened.write(lambda connection: connection.execute("CREATE TABLE page (text)"))
    yield opened
    opened.close()


def add(database: Database, pages: int = 1) -> None:
    for _ in range(pages):
        database.write(lambda connection: connection.execute("INSERT INTO page VALUES (?)", ("x" * 3000,)))


def killed(database: Database, name: str) -> Path:
    """The folder as a kill at this instant leaves it: the file of its copy."""
    return Path(shutil.copytree(database.path.parent, database.path.parent.with_name(name))) / NAME


def pages(file: Path) -> int:
    """Opened as by the next process."""
    with closing(open_data_file(file, "NORMAL")) as database:
        return int(database.read(lambda c: c.execute("SELECT count(*) FROM page").fetchone()[0]))


def beside(file: Path, suffix: str) -> Path:
    return file.with_name(NAME + suffix)


def delete(log: Path, former: Path) -> None:
    log.unlink()


def cut(log: Path, former: Path) -> None:
    os.truncate(log, log.stat().st_size - 1000)


def exchange(log: Path, former: Path) -> None:
    shutil.copy(former, log)


@pytest.mark.skipif(not Path("/proc/sys/kernel/random/boot_id").exists(), reason="Linux names its runs")
@pytest.mark.parametrize("harm", [delete, cut, exchange])
def test_a_log_that_is_not_the_one_that_was_there_is_told_until_somebody_decides(
    database: Database, harm: Callable[[Path, Path], None]
) -> None:
    add(database, 5)
    former = beside(killed(database, "former"), "-wal")
    add(database, 20)
    file = killed(database, "killed")
    harm(beside(file, "-wal"), former)
    for _ in range(2):
        with pytest.raises(StorageError, match=WORDS) as raised:
            open_data_file(file, "NORMAL")
    told = beside(file, "-shm")
    assert str(raised.value).endswith(f"delete {told}")
    told.unlink()
    open_data_file(file, "NORMAL").close()


def test_a_folder_whose_owner_was_killed_is_opened_at_any_instant(database: Database) -> None:
    """Before, behind and between copying back, and when the log begins anew."""
    for number in range(12):
        add(database, number % 3)
        if number % 4 == 3:
            database.copy_back()
        expected = database.read(lambda c: c.execute("SELECT count(*) FROM page").fetchone()[0])
        file = killed(database, f"killed {number}")
        assert pages(file) == expected
        assert pages(file) == expected, "and once more, after a clean end"


def test_a_lost_end_of_the_log_is_no_error_after_the_machine_was_off(database: Database) -> None:
    """A loss of power may leave the index and take the end of the log: NORMAL promises no more."""
    add(database, 20)
    file = killed(database, "killed")
    cut(beside(file, "-wal"), file)
    beside(file, "-boot").write_text("another run of the machine\n")
    assert pages(file) < 20


def test_a_minute_later_the_file_alone_has_all_that_was_saved(tmp_path: Path) -> None:
    """Whoever copies it without its log, or deletes that, loses no more than a minute."""
    installation = wiring.embedded(tmp_path / "data", demo_user=None, clock=MovableClock())
    with closing(installation):
        for number in range(20):
            installation.store.put(Item("partition", f"{number:02d}", "{}"), if_version=0)
        installation.purge()
        alone = Path(shutil.copy(tmp_path / "data" / NAME, tmp_path / NAME))
    with closing(Database(alone)) as database:
        assert len(SqliteStore(database, MovableClock()).query("partition", "")) == 20


def test_a_file_of_a_newer_parley_is_refused_and_one_without_a_number_is_adopted(database: Database) -> None:
    def number(to: int) -> None:
        database.write(lambda connection: connection.execute(f"PRAGMA user_version = {to}"))

    number(0)
    open_data_file(database.path, "NORMAL").close()
    assert database.read(lambda c: c.execute("PRAGMA user_version").fetchone()[0]) == FORMAT
    number(FORMAT + 1)
    with pytest.raises(
        StorageError, match=f"newer Parley \\(format {FORMAT + 1}, this one knows {FORMAT}\\)"
    ):
        open_data_file(database.path, "NORMAL")
