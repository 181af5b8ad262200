"""What only FolderBlobs has to stand: killed processes, full disks, other programs in the folder."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from parley.domain.errors import StorageError
from parley.embedded.blobs import FolderBlobs


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_no_key_leads_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "blobs"
    blobs = FolderBlobs(folder)
    for key in ("../out", "a/../../out", "/etc/out", "..", "~/out", "a\x00b", "C:\\out"):
        blobs.put(key, b"1")
    assert [path.name for path in tmp_path.iterdir()] == ["blobs"]


def test_keys_that_differ_in_case_alone_are_two_files_everywhere(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    for key in ("README.md", "readme.md", "Readme.MD"):
        blobs.put(key, b"1")
    files = [name for name in names(tmp_path) if name != ".tmp"]
    assert len({name.lower() for name in files}) == 3


def test_a_delete_leaves_no_empty_folders(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    blobs.put("a/b/c", b"1")
    blobs.put("a/d", b"2")
    blobs.delete("a/b/c")
    assert names(tmp_path) == [".tmp", "a=", "a=/d"]
    blobs.delete("a/d")
    assert names(tmp_path) == [".tmp"]


def test_what_a_killed_process_left_half_written_is_never_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = FolderBlobs(tmp_path)
    blobs.put("a", b"old")

    class Killed(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", die)
        patched.setattr(Path, "unlink", lambda *_, **__: None)
        with pytest.raises(Killed):
            blobs.put("a", b"new")
    assert blobs.get("a") == b"old"
    assert [info.key for info in blobs.list_keys("")] == ["a"]
    assert len(names(tmp_path)) == 3
    FolderBlobs(tmp_path)
    assert names(tmp_path) == [".tmp", "a"]


def test_full_makes_the_value_and_its_name_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc to tell what was synced")
    monkeypatch.setattr(os, "fsync", fsync)
    folder = tmp_path / "blobs"
    FolderBlobs(folder, synchronous="FULL").put("a/b/c", b"1")
    assert synced[1:] == ["b=", "a=", "blobs"]
    assert len(synced) == 4
    synced.clear()
    FolderBlobs(folder).put("a/b/d", b"1")
    assert synced == []


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OSError(28, "No space left on device"), "free some space"),
        (PermissionError(13, "denied"), "make the folder and its files yours and writable"),
    ],
)
def test_a_disk_that_refuses_is_a_storage_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, advice: str
) -> None:
    blobs = FolderBlobs(tmp_path)
    blobs.put("a", b"old")

    def refuse(*_: Any) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refuse)
        with pytest.raises(StorageError, match=advice):
            blobs.put("a", b"new")
    assert blobs.get("a") == b"old"
    blobs.put("a", b"new")
    assert blobs.get("a") == b"new"


def test_putting_and_deleting_side_by_side_never_fails(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    begin = threading.Barrier(4)

    def work(number: int) -> None:
        begin.wait()
        for _ in range(100):
            blobs.put(f"t/{number}", b"1")
            blobs.list_keys("t/")
            blobs.delete(f"t/{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert names(tmp_path) == [".tmp"]
