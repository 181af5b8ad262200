"""Large values in a folder: one file per key.

A key is any text, a file name is not. So each part of a key (between slashes) becomes a name of small
letters, digits, ``-``, ``_`` and ``.``, all else percent-encoded: upper-case letters too, because file
systems exist that do not tell them apart, and a leading dot, so that no part means "here" or "above".
Folders end in ``=``, so that ``a`` and ``a/b`` can both be keys; a part too long for one name goes on in
folders that end in ``+``.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote

from parley.domain.errors import StorageError
from parley.embedded.disk_words import words
from parley.turns.ports import BlobInfo

_UNSAFE: Final = re.compile(r"[^a-z0-9._-]|^\.")
_LONGEST_NAME: Final = 200
"""Bytes; every common file system takes 255."""
_TRIES: Final = 10
_TEMPORARY: Final = ".tmp"
"""Where files are written first. No key is mapped there: leading dots are encoded."""
_EMPTY: Final = ","
"""The name of a key's last part if that is empty."""


class FolderBlobs:
    """`parley.turns.ports.Blobs` below one folder.

    ``synchronous`` as for the database: NORMAL survives a killed process, FULL also a power cut.
    """

    def __init__(self, folder: Path, *, synchronous: Literal["NORMAL", "FULL"] = "NORMAL") -> None:
        self._folder = Path(folder)
        self._durable = synchronous == "FULL"
        self._temporary = self._folder / _TEMPORARY
        with _storage(self._folder):
            self._temporary.mkdir(parents=True, exist_ok=True)
            for left_over in self._temporary.iterdir():
                left_over.unlink()

    def get(self, key: str) -> bytes | None:
        """The file's bytes."""
        with _storage(self._folder):
            try:
                return self._path(key).read_bytes()
            except FileNotFoundError:
                return None

    def put(self, key: str, value: bytes, *, content_type: str = "application/octet-stream") -> None:
        """Write a new file and move it to its place at once. ``content_type`` is S3's concern."""
        target, new = self._path(key), self._temporary / uuid.uuid4().hex
        with _storage(self._folder):
            try:
                with new.open("xb") as file:
                    file.write(value)
                    if self._durable:
                        file.flush()
                        os.fsync(file.fileno())
                self._move(new, target)
            finally:
                new.unlink(missing_ok=True)

    def delete(self, key: str) -> None:
        """Remove the file, and the folders that it leaves empty."""
        path = self._path(key)
        with _storage(self._folder):
            path.unlink(missing_ok=True)
            with suppress(OSError):  # not empty, or removed by another: both are fine
                while (path := path.parent) != self._folder:
                    path.rmdir()

    def list_keys(self, prefix: str, *, after: str | None = None, limit: int = 1000) -> list[BlobInfo]:
        """Keys in order. Reads every name below the last slash of ``prefix``."""
        below = self._folder.joinpath(*_folder_names(prefix.split("/")[:-1]))
        found: list[BlobInfo] = []
        with _storage(self._folder):
            for path in _files(below):
                key = _key(path.relative_to(self._folder).as_posix())
                if key.startswith(prefix) and (not after or key > after):
                    with suppress(FileNotFoundError):  # deleted since
                        status = path.stat()
                        found.append(BlobInfo(key, status.st_size, status.st_mtime))
        return sorted(found)[: max(limit, 0)]

    def _path(self, key: str) -> Path:
        if not key:
            raise ValueError("a blob has a key")
        *parents, last = key.split("/")
        *begun, name = _pieces(last)
        return self._folder.joinpath(
            *_folder_names(parents), *(f"{piece}+" for piece in begun), name or _EMPTY
        )

    def _move(self, new: Path, target: Path) -> None:
        for _ in range(_TRIES):
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                new.replace(target)
            except (FileNotFoundError, FileExistsError):
                continue  # a delete took a folder away in between
            if self._durable:
                with suppress(FileNotFoundError):  # deleted already
                    self._sync_folders(target.parent)
            return
        raise StorageError(f"{target.parent} disappears again and again: does another program clean it?")

    def _sync_folders(self, folder: Path) -> None:
        """A new name, and each new folder above it, lasts once the folder that holds it is on the disk."""
        for each in (folder, *folder.parents):
            descriptor = os.open(each, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if each == self._folder:
                return


def _pieces(part: str) -> list[str]:
    """A part of a key, encoded, in pieces that are short enough to be names."""
    encoded = _UNSAFE.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), part)
    return [encoded[at : at + _LONGEST_NAME] for at in range(0, len(encoded), _LONGEST_NAME)] or [""]


def _folder_names(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        *begun, name = _pieces(part)
        yield from (f"{piece}+" for piece in begun)
        yield f"{name}="


def _key(path: str) -> str:
    """The key of a file, from its path below the folder."""
    return unquote(path.removesuffix(_EMPTY).replace("+/", "").replace("=/", "/"))


def _files(folder: Path) -> Iterator[Path]:
    """Every blob's file below ``folder``, in no order; folders that vanish meanwhile are no matter."""
    for parent, folders, files in os.walk(folder):
        if _TEMPORARY in folders:
            folders.remove(_TEMPORARY)
        yield from (Path(parent, name) for name in files)


@contextmanager
def _storage(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{folder}: {words(error)}") from error
