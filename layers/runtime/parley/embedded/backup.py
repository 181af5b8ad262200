"""A copy of a data folder, made while a server works on it or while none does."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from parley.domain.errors import StorageError
from parley.embedded.database import as_storage_error
from parley.embedded.disk_words import words
from parley.embedded.lock import owner_of
from parley.embedded.wal_check import require_whole_log

_DATABASE: Final = "parley.db"
_BLOBS: Final = "blobs"
# The index of the knowledge base is made again from the documents; the lock is a process's.
_FILES: Final = ("issuer.pem", "flags.json")


def back_up(data: Path, target: Path) -> int:
    """Copy ``data`` to the new folder ``target``, which can be served as it is; the bytes in it.

    It is there whole or not at all. The database comes first, as of one instant: a blob is written before anything
    refers to it, so those that it needs are there to be copied behind it. Raises StorageError.
    """
    source, unfinished = data / _DATABASE, target.with_name(f"{target.name}.unfinished")
    if not source.is_file():
        raise StorageError(f"{data} is no data folder: there is no {_DATABASE} in it")
    if target.exists():
        raise StorageError(
            f"{target} is there already: choose a new folder for the backup, or remove that one"
        )
    if owner_of(data) is None:
        require_whole_log(source)
    with _telling(target):
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700, parents=True)
        try:
            _copy_database(source, unfinished / _DATABASE)
            _copy_files(data, unfinished)
            size = sum(_lasting(file) for file in unfinished.rglob("*") if file.is_file())
            unfinished.rename(target)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    return size


def _copy_database(source: Path, target: Path) -> None:
    """As of one instant, without the space that deleted items left."""
    try:
        with closing(sqlite3.connect(source, timeout=5.0)) as connection:
            connection.execute("VACUUM INTO ?", (str(target),))
    except sqlite3.Error as error:
        told = as_storage_error(error, source) or error
        raise StorageError(f"{source} cannot be copied to {target}: {told}") from error


def _copy_files(data: Path, target: Path) -> None:
    for folder, _, files in os.walk(data / _BLOBS):
        below = target / Path(folder).relative_to(data)
        below.mkdir(exist_ok=True)
        for file in files:
            with suppress(FileNotFoundError):  # deleted since
                shutil.copy2(Path(folder, file), below / file)
    for name in _FILES:
        with suppress(FileNotFoundError):
            shutil.copy2(data / name, target / name)


def _lasting(file: Path) -> int:
    """The size of a file that is on the disk from here on."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


@contextmanager
def _telling(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {words(error)}") from error
