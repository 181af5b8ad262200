"""Opening the SQLite file that holds everything: is all of it there, and can this Parley read it?"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from parley.domain.errors import StorageError
from parley.embedded.database import Database, Durability
from parley.embedded.wal_check import note_boot, require_whole_log

FORMAT: Final = 1
"""Of the tables of ``parley.db`` and of what is in them. A change that an older Parley would misread counts it up, and
brings older files to the new form in ``_adopt``."""


def open_data_file(path: Path, synchronous: Durability) -> Database:
    """Raises StorageError if it cannot be opened, if a newer Parley wrote it, or if part of it was taken away."""
    require_whole_log(path)
    database = Database(path, synchronous=synchronous)
    try:
        _adopt(database)
    except BaseException:
        database.close()
        raise
    note_boot(path)
    return database


def _adopt(database: Database) -> None:
    """Note the format in a new file."""
    found: int = database.read(lambda connection: connection.execute("PRAGMA user_version").fetchone()[0])
    if found > FORMAT:
        raise StorageError(
            f"{database.path} was written by a newer Parley (format {found}, this one knows {FORMAT}): install that"
            f" one, or choose another data folder"
        )
    if found < FORMAT:  # new, or from before there was a number: the same tables
        database.write(lambda connection: connection.execute(f"PRAGMA user_version = {FORMAT}"))
