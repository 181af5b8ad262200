"""The tables of the knowledge index, and what is done with them over one connection.

A full-text table per project: what is rare in one is no matter to another. SQLite sees words that ``domain.words``
made, never a person's text: no query can be a mistake in its syntax.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from parley.domain.documents import Document
from parley.domain.passages import Passage
from parley.domain.words import is_one_of_a_pair, parts_of, stem, without_e, words
from parley.turns.knowledge_ports import Hit

VERSION: Final = 3
"""Of the tables and of the words in them: with another one, everything is indexed again."""
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
# Each project's words, and how many documents have them. FTS5's own list of words is read with all their places: it
# takes as long as they are many.
_TERMS: Final = """
    CREATE TABLE IF NOT EXISTS terms (
        project TEXT NOT NULL,
        term TEXT NOT NULL,
        documents INTEGER NOT NULL,
        PRIMARY KEY (project, term)
    ) WITHOUT ROWID
    """

Row = tuple[str, str, str, str, str, str, int, str]
"""A passage: words of its headings, its own, the stems of both; document, revision, heading, start and text."""


def version(connection: sqlite3.Connection) -> int:
    """Of the tables that are there; 0 if there are none."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def create(connection: sqlite3.Connection) -> None:
    """Make what all projects share, unless it is there."""
    connection.execute(_DOCUMENTS)
    connection.execute(_TERMS)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _table(project_id: str) -> str:
    return f"project_{hashlib.sha256(project_id.encode()).hexdigest()[:32]}"


def row_of(document: Document, passage: Passage) -> Row:
    """A passage as it is indexed. The slow part: to be done before a transaction, not in it."""
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


def replace(connection: sqlite3.Connection, project_id: str, document: Document, rows: Sequence[Row]) -> None:
    """Index a document with these passages, in place of what was known of it."""
    table = _table(project_id)
    # "ascii" takes every character beyond ASCII for a letter: what domain.words made of a text stays as it is.
    connection.execute(
        f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5(heading, words, stems, document UNINDEXED,"
        " revision UNINDEXED, section UNINDEXED, start UNINDEXED, passage UNINDEXED, tokenize = 'ascii')"
    )
    before = _take_out(connection, project_id, document.document_id)
    sql = "SELECT coalesce(max(last), 0) FROM documents WHERE project = ?"
    last = connection.execute(sql, (project_id,)).fetchone()[0]
    numbered = [(last + number, *row) for number, row in enumerate(rows, start=1)]
    connection.executemany(
        f"INSERT INTO {table} (rowid, heading, words, stems, document, revision, section, start, passage)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        numbered,
    )
    now = _distinct((heading, text) for heading, text, *_ in rows)
    connection.executemany(
        "INSERT INTO terms VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET documents = documents + 1",
        [(project_id, word) for word in sorted(now - before)],
    )
    _forget_words(connection, project_id, before - now)
    place = (project_id, document.document_id, document.revision, last + 1, last + len(rows))
    connection.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", place)


def forget(connection: sqlite3.Connection, project_id: str, document_id: str) -> None:
    """Forget a document, if it is known."""
    _forget_words(connection, project_id, _take_out(connection, project_id, document_id))


def _take_out(connection: sqlite3.Connection, project_id: str, document_id: str) -> set[str]:
    """Delete a document's rows; the words that it had."""
    key = (project_id, document_id)
    sql = "SELECT first, last FROM documents WHERE project = ? AND document = ?"
    if (place := connection.execute(sql, key).fetchone()) is None:
        return set()
    table = _table(project_id)
    rows = connection.execute(f"SELECT heading, words FROM {table} WHERE rowid BETWEEN ? AND ?", place)
    had = _distinct(rows)
    connection.execute(f"DELETE FROM {table} WHERE rowid BETWEEN ? AND ?", place)
    connection.execute("DELETE FROM documents WHERE project = ? AND document = ?", key)
    return had


def _distinct(texts: Iterable[tuple[str, str]]) -> set[str]:
    return {word for heading, text in texts for word in (*heading.split(), *text.split())}


def _forget_words(connection: sqlite3.Connection, project_id: str, gone: set[str]) -> None:
    """Of words that one document had, forget those that no other has."""
    words_gone = [(project_id, word) for word in sorted(gone)]
    connection.executemany(
        "UPDATE terms SET documents = documents - 1 WHERE project = ? AND term = ?", words_gone
    )
    connection.executemany("DELETE FROM terms WHERE project = ? AND term = ? AND documents = 0", words_gone)


def _matches(connection: sqlite3.Connection, table: str, match: str) -> bool:
    found = connection.execute(f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1", (match,))
    return found.fetchone() is not None


def search(
    connection: sqlite3.Connection, project_id: str, wanted: list[str], perhaps: list[str], limit: int
) -> list[Hit]:
    """The project's best passages for these words, of ``domain.words``; ``perhaps``: for these if it has them."""
    table = _table(project_id)
    known = "SELECT 1 FROM documents WHERE project = ? LIMIT 1"
    if connection.execute(known, (project_id,)).fetchone() is None:
        return []
    parts = [part for word in wanted for part in _parts(connection, project_id, word)]
    parts += [f'{{heading words}} : "{word}"' for word in sorted(_known(connection, project_id, perhaps))]
    match = " OR ".join(parts)
    rows = connection.execute(
        f"SELECT document, revision, passage, section, start, -bm25({table}, 4.0, 2.0, 1.0) AS score FROM {table}"
        f" WHERE {table} MATCH ? ORDER BY score DESC, rowid LIMIT ?",
        (match, limit),
    ).fetchall()
    best = rows[0][-1] if rows else 0.0
    return [Hit(*row) for row in rows if row[-1] >= best * _LEAST_SHARE]


def _parts(connection: sqlite3.Connection, project_id: str, word: str) -> list[str]:
    """How a word is asked for. It has letters and digits only: nothing in it could end the quotation."""
    if is_one_of_a_pair(word):
        return [f'{{heading words}} : "{word}" *']
    parts = _forms(word)
    if len(word) <= 2 or _matches(connection, _table(project_id), " OR ".join(parts)):
        return parts
    if (spelled := without_e(word)) != word:
        parts += _forms(spelled)
        if _matches(connection, _table(project_id), " OR ".join(parts)):
            return parts
    inside = (
        "SELECT term FROM terms WHERE project = ? AND instr(term, ?) > 0 ORDER BY length(term), term LIMIT ?"
    )
    found = connection.execute(inside, (project_id, word, _MOST_FORMS)).fetchall()
    return parts + [
        f'{{heading words}} : "{term}"' for (term,) in found or _made_of(connection, project_id, word)
    ]


def _forms(word: str) -> list[str]:
    return [f'{{heading words}} : "{word}"', f'stems : "{stem(word)}"']


def _known(connection: sqlite3.Connection, project_id: str, some: list[str]) -> set[str]:
    """Those of some words that the project has."""
    known = f"SELECT term FROM terms WHERE project = ? AND term IN ({', '.join('?' * len(some))})"
    return {term for (term,) in connection.execute(known, (project_id, *some))}


def _made_of(connection: sqlite3.Connection, project_id: str, word: str) -> list[tuple[str]]:
    """The longest words of the project with which a word that it has not begins and ends."""
    parts = parts_of(word)
    terms = _known(connection, project_id, parts)
    begins = next((part for part in parts if part in terms and word.startswith(part)), None)
    ends = next((part for part in parts if part in terms and word.endswith(part)), None)
    return [(part,) for part in dict.fromkeys((begins, ends)) if part is not None]
