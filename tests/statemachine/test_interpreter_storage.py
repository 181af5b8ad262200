"""The database under the interpreter: shared commits, refused writes, broken files."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from parley.domain.errors import StorageError
from parley.embedded.database import Database
from tests.statemachine.interpreter_stage import wait_until


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "data" / "some.sqlite")
    made.write(lambda connection: connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)"))
    yield made
    made.close()


def _insert(key: int, value: str = "") -> Callable[[sqlite3.Connection], int]:
    def operation(connection: sqlite3.Connection) -> int:
        connection.execute("INSERT INTO t VALUES (?, ?)", (key, value))
        return key

    return operation


def _keys(database: Database) -> list[int]:
    return database.read(
        lambda connection: [row[0] for row in connection.execute("SELECT k FROM t ORDER BY k")]
    )


def test_a_read_sees_what_was_written_before_it(database: Database) -> None:
    assert database.write(_insert(1)) == 1
    assert _keys(database) == [1]


def test_an_operation_that_raises_rolls_back_its_own_work_only(database: Database) -> None:
    def fails(connection: sqlite3.Connection) -> None:
        _insert(1)(connection)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        database.write(fails)
    database.write(_insert(2))
    assert _keys(database) == [2]


def test_a_mistake_in_the_sql_is_raised_as_it_is(database: Database) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        database.write(lambda connection: connection.execute("INSERT INTO missing VALUES (1)"))
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        database.read(lambda connection: connection.execute("SELECT * FROM missing"))


def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(StorageError, match="read-only"):
        database.read(_insert(1))


def test_many_threads_share_commits_and_each_gets_its_own_result_or_error(database: Database) -> None:
    commits: list[str] = []
    database._writer.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    gate = threading.Event()
    results: dict[int, Any] = {}

    def hold(connection: sqlite3.Connection) -> None:
        gate.wait(120)

    def write(key: int) -> None:
        def operation(connection: sqlite3.Connection) -> int:
            _insert(key)(connection)
            if key % 5 == 0:
                raise LookupError(key)
            return key

        try:
            results[key] = database.write(operation)
        except LookupError as error:
            results[key] = error.args[0] * 1000

    first = threading.Thread(target=lambda: database.write(hold))
    first.start()
    others = [threading.Thread(target=write, args=(key,)) for key in range(1, 21)]
    for thread in others:
        thread.start()
    while len(database._queue) < 20:
        pass
    gate.set()
    for thread in [first, *others]:
        thread.join()
    assert results == {key: key * 1000 if key % 5 == 0 else key for key in range(1, 21)}
    assert _keys(database) == [key for key in range(1, 21) if key % 5]
    assert len(commits) == 2


def test_a_write_inside_a_write_is_told_so(database: Database) -> None:
    with pytest.raises(RuntimeError, match="inside a write"):
        database.write(lambda connection: database.write(_insert(1)))
    database.write(_insert(2))


def test_a_full_disk_is_one_clear_error_and_writing_works_again_after_it(database: Database) -> None:
    [pages] = database._writer.execute("PRAGMA page_count").fetchone()
    database._writer.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StorageError, match="disk is full"):
        database.write(_insert(1, "x" * 1_000_000))
    database._writer.execute("PRAGMA max_page_count = 1000000")
    database.write(_insert(2, "x" * 1_000_000))
    assert _keys(database) == [2]


def test_in_a_shared_commit_only_the_write_that_does_not_fit_fails(database: Database) -> None:
    [pages] = database._writer.execute("PRAGMA page_count").fetchone()
    database._writer.execute(f"PRAGMA max_page_count = {pages + 10}")
    gate = threading.Event()
    outcomes: dict[int, str] = {}

    def write(key: int, value: str) -> None:
        try:
            database.write(_insert(key, value))
            outcomes[key] = "stored"
        except StorageError:
            outcomes[key] = "refused"

    holder = threading.Thread(target=lambda: database.write(lambda connection: gate.wait(120)))
    holder.start()
    threads = [
        threading.Thread(target=write, args=(1, "small")),
        threading.Thread(target=write, args=(2, "x" * 1_000_000)),
        threading.Thread(target=write, args=(3, "small")),
    ]
    for thread in threads:
        thread.start()
    while len(database._queue) < 3:
        pass
    gate.set()
    for thread in [holder, *threads]:
        thread.join()
    assert outcomes == {1: "stored", 2: "refused", 3: "stored"}
    assert _keys(database) == [1, 3]


def _queued(database: Database, operations: list[Callable[[sqlite3.Connection], int]]) -> list[Any]:
    """What each operation came to, its result or its error, if all of them wait for one commit."""
    gate = threading.Event()
    outcomes: list[Any] = [None] * len(operations)

    def write(place: int) -> None:
        try:
            outcomes[place] = database.write(operations[place])
        except (LookupError, StorageError, KeyboardInterrupt) as error:
            outcomes[place] = error

    holder = threading.Thread(target=lambda: database.write(lambda connection: gate.wait(120)))
    holder.start()
    threads = [threading.Thread(target=write, args=(place,)) for place in range(len(operations))]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(database._queue) == len(threads))
    gate.set()
    for thread in [holder, *threads]:
        thread.join()
    return outcomes


def _failing_at_first(key: int, error: BaseException) -> Callable[[sqlite3.Connection], int]:
    errors = [error]

    def operation(connection: sqlite3.Connection) -> int:
        if errors:
            raise errors.pop()
        return _insert(key)(connection)

    return operation


def test_a_write_that_succeeds_by_itself_has_no_error_of_the_shared_commit(database: Database) -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    outcomes = _queued(
        database, [_failing_at_first(1, LookupError()), _failing_at_first(2, full), _insert(3)]
    )
    assert outcomes == _keys(database) == [1, 2, 3]


def test_an_interrupt_of_one_writer_leaves_the_others_their_writes(database: Database) -> None:
    outcomes = _queued(database, [_insert(1), _failing_at_first(2, KeyboardInterrupt()), _insert(3)])
    kept = _keys(database)
    assert [outcome for outcome in outcomes if not isinstance(outcome, BaseException)] == kept
    assert len(kept) == 2


def test_a_closed_database_says_so(tmp_path: Path) -> None:
    closed = Database(tmp_path / "some.sqlite")
    closed.close()
    with pytest.raises(StorageError, match="closed"):
        closed.write(_insert(1))
    with pytest.raises(StorageError, match="closed"):
        _keys(closed)


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    path = tmp_path / "some.sqlite"
    path.write_text("this is no database, whatever its name says, and long enough to be looked at" * 20)
    with pytest.raises(StorageError, match="not a SQLite database"):
        Database(path)
