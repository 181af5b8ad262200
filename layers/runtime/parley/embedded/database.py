"""The one SQLite file of an embedded Parley: who may write when, and what a commit costs.

Owns the connections, the transactions and the error class. Tables belong to those who use them.

Writers share commits (leader and followers): a caller queues its operation and takes the lock; whoever
gets the lock runs all that is queued in one transaction, commits once, and every caller returns after
the commit that holds its work. A lone writer pays no hand-off to another thread.
"""

import logging
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

from parley.domain.errors import StorageError
from parley.embedded.disk_words import FULL

_log = logging.getLogger(__name__)
T = TypeVar("T")
Durability = Literal["NORMAL", "FULL"]

# Primary result codes (https://sqlite.org/rescode.html) that tell of the file or the disk, not of the SQL.
_STORAGE_CODES = {
    sqlite3.SQLITE_PERM: "the file may not be accessed: check its owner and permissions",
    sqlite3.SQLITE_BUSY: "another process holds the file: one process owns a data folder, stop the other",
    sqlite3.SQLITE_LOCKED: "the file is locked: stop what else uses it",
    sqlite3.SQLITE_NOMEM: "out of memory: free some, then try again",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only: make both writable",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write: check the disk and its free space",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: restore it from a backup",
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened: check that its folder exists and is writable",
    sqlite3.SQLITE_NOTADB: "the file is not a SQLite database: move it away or restore a backup",
}


class _Write:
    """One queued operation, and after `done` its result or its error."""

    __slots__ = ("done", "error", "operation", "result")

    def __init__(self, operation: Callable[[sqlite3.Connection], Any]) -> None:
        self.operation = operation
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False


class Database:
    """A SQLite file in WAL mode for many threads of one process.

    `synchronous` NORMAL survives a killed process; FULL also a power cut, at one fsync per (shared) commit.
    Raises StorageError if the file cannot be opened.
    """

    def __init__(self, path: Path, *, synchronous: Durability = "NORMAL") -> None:
        self.path = Path(path)
        self._synchronous = synchronous
        self._queue: deque[_Write] = deque()
        self._lock = threading.Lock()
        self._leader = 0
        self._readers: deque[sqlite3.Connection] = deque()
        self._closed = False
        self._refusing = False
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = self._connect()

    def write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run `operation` in a transaction that is committed before this returns.

        What `operation` raises rolls back only its own work and is raised here. It may be run again after
        a roll-back, so it must change nothing but the connection it is given. Raises StorageError when the
        file cannot take it; later writes work again once the cause is gone.
        """
        if self._leader == threading.get_ident():
            raise RuntimeError("a write inside a write: use the connection the operation was given")
        mine = _Write(operation)
        self._queue.append(mine)
        with self._lock:
            if not mine.done:
                self._leader = threading.get_ident()
                try:
                    self._drain(mine)
                finally:
                    self._leader = 0
        if mine.error is not None:
            raise mine.error
        return mine.result  # type: ignore[no-any-return]

    def read(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run `operation`, one SELECT, on a read-only connection: it sees the last commit.

        A statement alone is a snapshot of its own; for several over one, see `snapshot`.
        """
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._connect(read_only=True)
        try:
            return operation(connection)
        except sqlite3.Error as error:
            storage_error = as_storage_error(error, self.path)
            if storage_error is None:
                raise
            raise storage_error from error
        finally:
            self._give_back(connection)

    def snapshot(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run `operation`, of several SELECTs, over one snapshot that holds the last commit."""

        def within(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN")
            return operation(connection)

        return self.read(within)

    def copy_back(self) -> None:
        """Bring what is only in the write-ahead log to the file itself, and both to the disk. Holds up no writer.

        Done now and then, the log of a quiet server does not hold all that was ever said to it.
        """
        self.read(lambda connection: connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone())

    def close(self) -> None:
        """Close every connection. Calls after this raise StorageError."""
        with self._lock:
            self._closed = True
            self._writer.close()
            while self._readers:
                self._readers.pop().close()

    def _connect(self, *, read_only: bool = False) -> sqlite3.Connection:
        if self._closed:
            raise StorageError(f"{self.path}: the database is closed")
        connection = None
        try:
            connection = sqlite3.connect(
                self.path, timeout=5.0, isolation_level=None, check_same_thread=False, cached_statements=256
            )
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={self._synchronous}")
            # KiB. A reader for every thread that reads at once: theirs add up.
            connection.execute(f"PRAGMA cache_size={-2000 if read_only else -16000}")
            # 16 MB of log before it is copied back: hot pages are copied once, not at every 4 MB.
            connection.execute("PRAGMA wal_autocheckpoint=4000")
            # A long read may let the log grow: it is cut back afterwards.
            connection.execute("PRAGMA journal_size_limit=33554432")
            if read_only:
                connection.execute("PRAGMA query_only=ON")
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
            storage_error = as_storage_error(error, self.path)
            if storage_error is None:
                raise
            raise storage_error from error
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("COMMIT")
        except sqlite3.Error:
            connection.close()
            return
        self._readers.append(connection)
        if self._closed:  # closed while we read
            self.close()

    def _drain(self, mine: _Write) -> None:
        """Run everything queued, `mine` included, with one commit. Called with the lock held."""
        batch = [self._queue.popleft() for _ in range(len(self._queue))]
        if self._closed:
            self._settle(batch, StorageError(f"{self.path}: the database is closed"))
            return
        try:
            if len(batch) == 1:
                self._alone(mine)
            elif not self._together(batch):
                for write in batch:
                    self._alone(write)
        except BaseException:
            # An interrupt in the middle: nothing is committed, the others' turn comes with the lock.
            self._roll_back()
            self._queue.extendleft(write for write in reversed(batch) if write is not mine and not write.done)
            raise
        finally:
            for write in batch:
                write.done = write.done or write.error is not None

    def _alone(self, write: _Write) -> None:
        connection = self._writer
        try:
            connection.execute("BEGIN IMMEDIATE")
            write.result = write.operation(connection)
            connection.execute("COMMIT")
            write.done = True
            self._note(None)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - it is raised again, in the thread that asked
            self._roll_back()
            refused = as_storage_error(error, self.path)
            if refused is not None:
                self._note(refused)
            self._settle([write], refused or error)

    def _together(self, batch: list[_Write]) -> bool:
        """One transaction for the batch. False: the file refused; all is rolled back, each may try alone."""
        connection = self._writer
        try:
            connection.execute("BEGIN IMMEDIATE")
            for write in batch:
                self._within_savepoint(write)
            connection.execute("COMMIT")
        except sqlite3.Error:
            self._roll_back()
            for write in batch:
                write.error = None
            return False
        for write in batch:
            write.done = True
        self._note(None)
        return True

    def _within_savepoint(self, write: _Write) -> None:
        connection = self._writer
        connection.execute("SAVEPOINT operation")
        try:
            write.result = write.operation(connection)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if as_storage_error(error, self.path) is not None:
                raise
            connection.execute("ROLLBACK TO operation")
            write.error = error
        connection.execute("RELEASE operation")

    def _roll_back(self) -> None:
        # SQLite itself may have rolled back already (disk full, I/O error).
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def _note(self, refused: StorageError | None) -> None:
        """Log the first of the writes that are refused, and that they are taken again: not each, to a full disk."""
        if refused is not None and not self._refusing:
            _log.error("nothing can be saved for now: %s", refused)
        elif refused is None and self._refusing:
            _log.warning("%s: changes are saved again", self.path)
        self._refusing = refused is not None

    @staticmethod
    def _settle(batch: list[_Write], error: BaseException) -> None:
        for write in batch:
            write.error = error
            write.done = True


def as_storage_error(error: BaseException, path: Path) -> StorageError | None:
    """The StorageError that tells of `error`, if it comes from the file `path` and not from the SQL."""
    if not isinstance(error, sqlite3.Error):
        return None
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    advice = _STORAGE_CODES.get(code)
    if advice is None and "closed database" in str(error):
        advice = "the database is closed"
    if advice is None:
        return None
    storage_error = StorageError(f"{path}: {advice} ({error})")
    storage_error.__cause__ = error
    return storage_error
