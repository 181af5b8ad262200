"""What a person is told when the operating system refuses a file: what is wrong, and what to do."""

from __future__ import annotations

import errno
from typing import Final

FULL: Final = "the disk is full: free some space, then try again"
_ADVICE: Final = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: "the disk quota is used up: free some space, then try again",
    errno.EFBIG: "a file may not grow any further: raise the limit of file sizes, or free some space",
    errno.EROFS: "the file system is read-only: make it writable, or choose another data folder",
    errno.EACCES: "not allowed: make the folder and its files yours and writable",
    errno.EPERM: "not allowed: make the folder and its files yours and writable",
    errno.EIO: "the disk failed to read or write: check it",
    errno.EMFILE: "too many open files: raise the limit (ulimit -n), then try again",
}


def words(error: OSError) -> str:
    """The advice for this error, or the system's own words where there is none."""
    return _ADVICE.get(error.errno or 0) or error.strerror or str(error)
