"""The knowledge index in SQLite's full-text search (FTS5), ranked by its BM25.

In a file of its own, ``knowledge.db``: what is in it follows from the documents, so it may be deleted at any time, and
one that is damaged or of another version is made anew. A table per project: what is rare in one is no matter to
another. SQLite sees words that ``domain.words`` made, never a person's text: no query can be a mistake in its syntax.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from parley.domain.documents import Document
from parley.domain.errors import StorageError
from parley.domain.passages import Passage, passages
from parley.domain.words import is_one_of_a_pair, query_words, stem, words
from parley.embedded.database import Database
from parley.turns.documents import Documents
from parley.turns.knowledge_ports import Hit, Indexed, IndexState

T = TypeVar("T")

VERSION: Final = 1
"""Of the tables and of the words in them: with another one, everything is indexed again."""
_TRIES: Final = 3
_MOST_WORDS: Final = 40
_MOST_FORMS: Final = 30
_LEAST_SHARE: Final = 0.1
"""A passage that scores less than this part of the best one only shares a common word with the question."""
_DOCUMENTS: Final = """
    CREATE TABLE IF NOT EXISTS documents (
        project TEXT NOT NULL,
        document TEXT NOT NULL,
        revision TEXT NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (project, document)
    ) WITHOUT ROWID
    """
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
        self._write(lambda connection: _forget(connection, project_id, document_id))

    def search(self, project_id: str, query: str, limit: int) -> list[Hit]:
        """Words as they are count most, in headings above all; then their stems; a word that is found neither way
        is looked for inside of others, as in German compounds.
        """
        wanted = query_words(query)[:_MOST_WORDS]
        if not wanted:
            return []
        hits: list[Hit] = []
        for _ in range(_TRIES):
            self._make_complete(project_id)
            hits = self._read(lambda connection: _search(connection, project_id, wanted, limit))
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
        """Close the file, if it was opened."""
        with self._opening:
            if self._database is not None:
                self._database.close()

    def _add(self, project_id: str, document: Document, text: str) -> None:
        rows = [_row(document, passage) for passage in passages(text)]
        self._write(lambda connection: _replace(connection, project_id, document, rows))

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
            if self._database is None:
                database = Database(self._path)
                try:
                    if database.read(_version) not in (0, VERSION):
                        database.close()
                        _unlink(self._path)
                        database = Database(self._path)
                    database.write(_create)
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


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(_DOCUMENTS)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _table(project_id: str) -> str:
    return f"project_{hashlib.sha256(project_id.encode()).hexdigest()[:32]}"


_Row = tuple[str, str, str, str, str, str, int, str]


def _row(document: Document, passage: Passage) -> _Row:
    heading = words(f"{document.title} {passage.heading} {document.document_id}")
    text = words(passage.text)
    stems = [stem(word) for word in (*heading, *text)]
    return (
        " ".join(heading),
        " ".join(text),
        " ".join(stems),
        document.document_id,
        document.revision,
        passage.heading,
        passage.start,
        passage.text,
    )


def _replace(connection: sqlite3.Connection, project_id: str, document: Document, rows: list[_Row]) -> None:
    table = _table(project_id)
    # "ascii" takes every character beyond ASCII for a letter: what domain.words made of a text stays as it is.
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5(heading, words, stems, document UNINDEXED,"
        " revision UNINDEXED, section UNINDEXED, start UNINDEXED, passage UNINDEXED, tokenize = 'ascii')"
    )
    connection.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {table}_terms USING fts5vocab({table}, 'row')")
    _forget(connection, project_id, document.document_id)
    sql = "SELECT coalesce(max(last), 0) FROM documents WHERE project = ?"
    last = connection.execute(sql, (project_id,)).fetchone()[0]
    numbered = [(last + number, *row) for number, row in enumerate(rows, start=1)]
    connection.executemany(
        f"INSERT INTO {table} (rowid, heading, words, stems, document, revision, section, start, passage)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        numbered,
    )
    place = (project_id, document.document_id, document.revision, last + 1, last + len(rows))
    connection.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", place)


def _forget(connection: sqlite3.Connection, project_id: str, document_id: str) -> None:
    key = (project_id, document_id)
    sql = "SELECT first, last FROM documents WHERE project = ? AND document = ?"
    if (place := connection.execute(sql, key).fetchone()) is not None:
        connection.execute(f"DELETE FROM {_table(project_id)} WHERE rowid BETWEEN ? AND ?", place)
        connection.execute("DELETE FROM documents WHERE project = ? AND document = ?", key)


def _search(connection: sqlite3.Connection, project_id: str, wanted: list[str], limit: int) -> list[Hit]:
    table = _table(project_id)
    known = "SELECT 1 FROM documents WHERE project = ? LIMIT 1"
    if connection.execute(known, (project_id,)).fetchone() is None:
        return []
    match = " OR ".join(part for word in wanted for part in _parts(connection, table, word))
    rows = connection.execute(
        f"SELECT document, revision, passage, section, start, -bm25({table}, 4.0, 2.0, 1.0) AS score FROM {table}"
        f" WHERE {table} MATCH ? ORDER BY score DESC, rowid LIMIT ?",
        (match, limit),
    ).fetchall()
    best = rows[0][-1] if rows else 0.0
    return [Hit(*row) for row in rows if row[-1] >= best * _LEAST_SHARE]


def _parts(connection: sqlite3.Connection, table: str, word: str) -> list[str]:
    """How a word is asked for. It has letters and digits only: nothing in it could end the quotation."""
    if is_one_of_a_pair(word):
        return [f'{{heading words}} : "{word}" *']
    parts = [f'{{heading words}} : "{word}"', f'stems : "{stem(word)}"']
    known = f"SELECT 1 FROM {table}_terms WHERE term IN (?, ?) LIMIT 1"
    if len(word) > 2 and connection.execute(known, (word, stem(word))).fetchone() is None:
        inside = (
            f"SELECT term FROM {table}_terms WHERE instr(term, ?) > 0 ORDER BY length(term), term LIMIT ?"
        )
        found = connection.execute(inside, (word, _MOST_FORMS)).fetchall()
        parts += [f'{{heading words}} : "{term}"' for (term,) in found]
    return parts
