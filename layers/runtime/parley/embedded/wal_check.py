"""Whether the write-ahead log beside a SQLite file is the one that was there when its last owner was killed.

A log that was deleted, cut off or exchanged takes committed changes along, and SQLite cannot notice: it reads what is
there. But the index of the log, ``-shm``, names the log's last frame, and outlives a killed process as the log does
(a clean end removes both). Only while the machine runs: a loss of power may spare the index and take the log's end,
which ``synchronous=NORMAL`` allows. So a third file, ``-boot``, says in which run of the machine the index was made.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from parley.domain.errors import StorageError

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
"""Another one each time Linux starts. Elsewhere nothing is checked."""
# https://sqlite.org/walformat.html#walidxfmt: version, change counter, ready, byte order, page size, last frame, pages
# of the database, the last frame's checksum and salt, the header's own checksum. Twice, then what was copied back.
_HEADER: Final = struct.Struct("=I4xIBBHII2I8s2I")
_COPIED_BACK: Final = struct.Struct("=I")
_VERSION: Final = 3007000
# https://sqlite.org/fileformat2.html#walformat: the log's header, then frames: salt and checksum, then a page.
_LOG_HEADER, _FRAME_HEADER, _SALT_IN_FRAME = 32, 24, 8


def require_whole_log(database: Path) -> None:
    """Raises StorageError if changes that were committed to the file ``database`` are missing from its log."""
    boot = _read(_beside(database, "-boot"))
    if not boot or boot != _read(_BOOT_ID):
        return
    index = _read(_beside(database, "-shm"), 2 * _HEADER.size + _COPIED_BACK.size)
    last = _last_frame(index)
    if last is None:
        return
    found = _read(_beside(database, "-wal"), last.size, last.offset)
    if len(found) < last.size or not found.startswith(last.begins):
        raise StorageError(
            f"{database}-wal is not as it was left: changes that were saved are missing. It was deleted, cut off or"
            f" exchanged, or copied while Parley ran. Put it back, or restore a backup; to go on without those changes,"
            f" delete {database}-shm"
        )


def note_boot(database: Path) -> None:
    """The index beside the file was made in this run of the machine."""
    boot, note = _read(_BOOT_ID), _beside(database, "-boot")
    if boot and boot != _read(note):
        with suppress(OSError):  # a disk that takes nothing: nothing is checked next time
            note.write_bytes(boot)


class _Frame(NamedTuple):
    """Of the last frame, from its salt on: where that is in the log, its bytes, and what they begin with."""

    offset: int
    size: int
    begins: bytes


def _last_frame(index: bytes) -> _Frame | None:
    """None if the log is not needed, or if its writer was killed between the two copies of the index's header."""
    size = _HEADER.size
    if len(index) < 2 * size + _COPIED_BACK.size or index[:size] != index[size : 2 * size]:
        return None
    version, _, ready, _, page, last, _, one, two, salt, _, _ = _HEADER.unpack_from(index)
    (copied_back,) = _COPIED_BACK.unpack_from(index, 2 * size)
    if version != _VERSION or not ready or last <= copied_back:
        return None
    page = 65536 if page == 1 else page
    begins = salt + struct.pack(">II", one, two)
    offset = _LOG_HEADER + (last - 1) * (_FRAME_HEADER + page) + _SALT_IN_FRAME
    return _Frame(offset, len(begins) + page, begins)


def _beside(database: Path, suffix: str) -> Path:
    return database.with_name(database.name + suffix)


def _read(path: Path, size: int = -1, offset: int = 0) -> bytes:
    """What stands there; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except OSError:
        return b""
