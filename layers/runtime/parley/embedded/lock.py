"""The lock of a data folder: one process owns it, and says where it can be reached.

The lock is the operating system's (`flock`), so it ends with the process however that ends. The locked file
holds `{"pid", "url"}` for those who find the folder taken; `url` is null until a server announced it.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from parley.domain.errors import ParleyError, StorageError
from parley.embedded.disk_words import words

_FILE = "lock"
_TRIES = 10
_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that holds a data folder. `url` is None if it serves nothing (yet)."""

    pid: int
    url: str | None


class FolderLocked(ParleyError):
    """Another process owns the data folder."""

    def __init__(self, folder: Path, owner: Owner) -> None:
        where = f" and serves {owner.url}" if owner.url else ""
        super().__init__(f"{folder} is in use: process {owner.pid} owns it{where}")
        self.owner = owner


class FolderLock:
    """Holds a data folder from `acquire` to `release`."""

    def __init__(self, descriptor: int, folder: Path) -> None:
        self._descriptor = descriptor
        self._folder = folder

    @classmethod
    def acquire(cls, folder: Path) -> FolderLock:
        """Take the folder, made if need be. Raises FolderLocked, or StorageError if it cannot be written."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(f"{folder} cannot be used as a data folder: {words(error)}") from error
        # Somebody who only asks for the owner holds the lock for an instant: hence more than one try.
        for _ in range(_TRIES):
            if _lock(descriptor, fcntl.LOCK_EX):
                lock = cls(descriptor, folder)
                try:
                    lock.announce(None)
                except StorageError:
                    lock.release()
                    raise
                return lock
            threading.Event().wait(_PAUSE_SECONDS)
        owner = _read(descriptor)
        os.close(descriptor)
        raise FolderLocked(folder, owner)

    def announce(self, url: str | None) -> None:
        """Tell others, through the file, where this process serves the folder. Raises StorageError."""
        text = json.dumps({"pid": os.getpid(), "url": url}).encode()
        try:
            os.pwrite(self._descriptor, text, 0)
            os.ftruncate(self._descriptor, len(text))
        except OSError as error:
            raise StorageError(f"{self._folder} cannot be written: {words(error)}") from error

    def release(self) -> None:
        """Give the folder up. Doing so twice is harmless."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
            os.close(descriptor)


def owner_of(folder: Path) -> Owner | None:
    """Who holds the folder now; None if nobody does."""
    try:
        descriptor = os.open(folder / _FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # Shared, so that two who ask at once do not take each other for the owner.
        return None if _lock(descriptor, fcntl.LOCK_SH) else _read(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, mode: int) -> bool:
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(descriptor: int) -> Owner:
    try:
        content = json.loads(os.pread(descriptor, 4096, 0))
        return Owner(pid=int(content["pid"]), url=content["url"])
    except (ValueError, KeyError, TypeError):  # its owner is just writing it
        return Owner(pid=0, url=None)
