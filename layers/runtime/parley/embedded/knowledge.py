"""The knowledge index in SQLite's full-text search (FTS5), ranked by its BM25.

In a file of its own, ``knowledge.db``: what is in it follows from the documents, so it may be deleted at any time, and
one that is damaged or of another version is made anew. ``knowledge_tables`` has the SQL.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from parley.domain.documents import Document
from parley.domain.errors import StorageError
from parley.domain.passages import passages
from parley.domain.words import neighbours, query_words
from parley.embedded import knowledge_tables as tables
from parley.embedded.database import Database
from parley.turns.documents import Documents
from parley.turns.knowledge_ports import Hit, Indexed, IndexState

T = TypeVar("T")

_TRIES: Final = 3
_MOST_WORDS: Final = 40
_BROKEN: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SqliteKnowledge:
    """`parley.turns.knowledge_ports.Knowledge` in a file, opened at its first use.

    ``documents_of`` gives a project's documents: at the first search of a project the index is made to agree with them,
    so that nothing is missing after a crash, a restored backup or a lost file.
    """

    def __init__(self, path: Path, documents_of: Callable[[str], Documents]) -> None:
        self._path = path
        self._documents_of = documents_of
        self._opening = threading.Lock()
        self._completing = threading.Lock()
        self._database: Database | None = None
        self._closed = False
        self._complete: set[str] = set()

    def add(self, project_id: str, document: Document, text: str) -> None:
        """One transaction: a search sees the document as it was, or as it is."""
        try:
            self._add(project_id, document, text)
        except BaseException:
            self._complete.discard(project_id)
            raise

    def remove(self, project_id: str, document_id: str) -> None:
        """One transaction."""
        self._write(lambda connection: tables.forget(connection, project_id, document_id))

    def search(self, project_id: str, query: str, limit: int) -> list[Hit]:
        """Words as they are count most, in headings above all; then their stems; a word that is found neither way
        is looked for inside of others, as in German compounds.
        """
        wanted, perhaps = query_words(query)[:_MOST_WORDS], neighbours(query)[:_MOST_WORDS]
        if not wanted:
            return []
        hits: list[Hit] = []
        for _ in range(_TRIES):
            self._make_complete(project_id)
            hits = self._read(
                lambda connection: tables.search(connection, project_id, wanted, perhaps, limit)
            )
            if project_id in self._complete:  # no damage was found meanwhile
                break
        return hits

    def state(self, project_id: str, document: Document) -> Indexed:
        """What is not there yet will be, before the next search is answered."""
        key = (project_id, document.document_id)
        sql = "SELECT revision FROM documents WHERE project = ? AND document = ?"
        row = self._read(lambda connection: connection.execute(sql, key).fetchone())
        known = row is not None and row[0] == document.revision
        return Indexed(IndexState.INDEXED if known else IndexState.INDEXING)

    def close(self) -> None:
        """Close the file, if it was opened. Calls after this raise StorageError."""
        with self._opening:
            self._closed = True
            if self._database is not None:
                self._database.close()

    def _add(self, project_id: str, document: Document, text: str) -> None:
        rows = [tables.row_of(document, passage) for passage in passages(text)]
        self._write(lambda connection: tables.replace(connection, project_id, document, rows))

    def _make_complete(self, project_id: str) -> None:
        if project_id in self._complete:
            return
        with self._completing:
            if project_id in self._complete:
                return
            file = self._repairing(self._opened)
            sql = "SELECT document, revision FROM documents WHERE project = ?"
            known = dict(self._read(lambda connection: connection.execute(sql, (project_id,)).fetchall()))
            documents = self._documents_of(project_id)
            for document in documents.all():
                if known.pop(document.document_id, None) == document.revision:
                    continue
                if (read := documents.read(document.document_id)) is not None:
                    self._add(project_id, *read)
            for document_id in known:
                self.remove(project_id, document_id)
            if self._repairing(self._opened) is file:
                self._complete.add(project_id)

    def _write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        return self._repairing(lambda: self._opened().write(operation))

    def _read(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        return self._repairing(lambda: self._opened().snapshot(operation))

    def _repairing(self, attempt: Callable[[], T]) -> T:
        try:
            return attempt()
        except StorageError as error:
            if not _is_broken(error):
                raise
        self._start_over()
        return attempt()

    def _opened(self) -> Database:
        with self._opening:
            if self._closed:
                raise StorageError(f"{self._path}: the knowledge index is closed")
            if self._database is None:
                database = Database(self._path)
                try:
                    if database.read(tables.version) not in (0, tables.VERSION):
                        database.close()
                        _unlink(self._path)
                        database = Database(self._path)
                    database.write(tables.create)
                except BaseException:
                    database.close()
                    raise
                self._database = database
            return self._database

    def _start_over(self) -> None:
        with self._opening:
            if self._database is not None:
                self._database.close()
                self._database = None
            _unlink(self._path)
            self._complete.clear()


def _is_broken(error: StorageError) -> bool:
    return getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF in _BROKEN


def _unlink(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
