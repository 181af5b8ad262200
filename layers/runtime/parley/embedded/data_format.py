"""The number in the SQLite file that says how to read it."""

from __future__ import annotations

from typing import Final

from parley.domain.errors import StorageError
from parley.embedded.database import Database

FORMAT: Final = 1
"""Of the tables of ``parley.db`` and of what is in them. A change that an older Parley would misread counts it up, and
brings older files to the new form in ``adopt``."""


def adopt(database: Database) -> None:
    """Note the format in a new file. Raises StorageError for one that a newer Parley wrote."""
    found: int = database.read(lambda connection: connection.execute("PRAGMA user_version").fetchone()[0])
    if found > FORMAT:
        raise StorageError(
            f"{database.path} was written by a newer Parley (format {found}, this one knows {FORMAT}): install that"
            f" one, or choose another data folder"
        )
    if found < FORMAT:  # new, or from before there was a number: the same tables
        database.write(lambda connection: connection.execute(f"PRAGMA user_version = {FORMAT}"))
