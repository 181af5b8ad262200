import errno
import os

import pytest

from parley.domain.errors import StorageError
from parley.embedded.lock import FolderLock, FolderLocked, Owner, owner_of


def test_a_folder_has_one_owner_who_says_where_it_is(tmp_path):
    folder = tmp_path / "new" / "data"
    assert owner_of(folder) is None
    lock = FolderLock.acquire(folder)
    assert owner_of(folder) == Owner(os.getpid(), None)
    lock.announce("http://127.0.0.1:8000")
    with pytest.raises(FolderLocked, match="serves http://127") as raised:
        FolderLock.acquire(folder)
    assert raised.value.owner.url == "http://127.0.0.1:8000"
    lock.release()
    lock.release()
    assert owner_of(folder) is None
    FolderLock.acquire(folder).release()


def test_what_a_dead_owner_left_is_not_believed(tmp_path):
    (tmp_path / "lock").write_text('{"pid": 1, "url": "http://127.0.0.1:1"}')
    assert owner_of(tmp_path) is None
    lock = FolderLock.acquire(tmp_path)
    assert owner_of(tmp_path) == Owner(os.getpid(), None)
    lock.release()


def test_a_file_in_place_of_the_folder_is_said_plainly(tmp_path):
    (tmp_path / "data").write_text("")
    with pytest.raises(StorageError, match="cannot be used as a data folder"):
        FolderLock.acquire(tmp_path / "data")


def test_a_full_disk_is_said_plainly_and_leaves_the_folder_free(tmp_path, monkeypatch):
    def full(descriptor, content, offset):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        with pytest.raises(StorageError, match="cannot be written: the disk is full: free some space"):
            FolderLock.acquire(tmp_path)
    FolderLock.acquire(tmp_path).release()
