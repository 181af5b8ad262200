from __future__ import annotations

import pytest

from parley.turns.ports import Blobs

ODD_KEYS = [
    "plain",
    "a/b",
    "a",
    "a/b/c",
    "A/b",
    "../outside",
    "./here",
    "..",
    ".hidden/..",
    ".tmp/x",
    "a//b",
    "/a",
    "a/",
    "per%cent",
    "per%25cent",
    "sp ace?&*:|<>\"'\\",
    "naïve/日本/🎈.txt",
    "e\u0301",
    "x" * 700,
    "日" * 150 + "/end",
    "dir=/file=",
    "dir+/file,",
    "new\nline",
]


def keys(blobs: Blobs, prefix: str, *, after: str | None = None, limit: int = 1000) -> list[str]:
    return [info.key for info in blobs.list_keys(prefix, after=after, limit=limit)]


def test_what_was_never_put_is_none(blobs: Blobs) -> None:
    assert blobs.get("a/b") is None


def test_a_value_comes_back_byte_for_byte(blobs: Blobs) -> None:
    for value in (b"", bytes(range(256)) * 5000):
        blobs.put("a", value, content_type="image/png")
        assert blobs.get("a") == value


def test_a_later_value_replaces_an_earlier_one(blobs: Blobs) -> None:
    blobs.put("a", b"1")
    blobs.put("a", b"2")
    assert blobs.get("a") == b"2"
    assert keys(blobs, "") == ["a"]


def test_any_text_is_a_key_and_no_two_are_the_same(blobs: Blobs) -> None:
    for key in ODD_KEYS:
        blobs.put(key, key.encode())
    assert [blobs.get(key) for key in ODD_KEYS] == [key.encode() for key in ODD_KEYS]
    assert keys(blobs, "") == sorted(ODD_KEYS)


@pytest.mark.parametrize("prefix", ["a", "a/", "a/b", "x" * 650, "日" * 80, "per%", ".", "zzz/none"])
def test_a_list_gives_what_begins_with_the_prefix(blobs: Blobs, prefix: str) -> None:
    for key in ODD_KEYS:
        blobs.put(key, b"")
    assert keys(blobs, prefix) == sorted(key for key in ODD_KEYS if key.startswith(prefix))


def test_a_list_reads_on_after_a_key_and_keeps_its_limit(blobs: Blobs) -> None:
    for number in range(12):
        blobs.put(f"t/{number:02d}", b"x" * number)
    assert keys(blobs, "t/", limit=2) == ["t/00", "t/01"]
    assert keys(blobs, "t/", after="t/09") == ["t/10", "t/11"]
    assert keys(blobs, "t/", after="t/095") == ["t/10", "t/11"]
    assert keys(blobs, "t/", limit=0) == []
    assert [info.size for info in blobs.list_keys("t/", after="t/09")] == [10, 11]
    assert all(info.modified_at > 1_600_000_000 for info in blobs.list_keys("t/"))


def test_a_deleted_value_is_gone_and_may_come_back(blobs: Blobs) -> None:
    blobs.put("a/b/c", b"1")
    blobs.put("a/d", b"2")
    blobs.delete("a/b/c")
    blobs.delete("a/b/c")
    assert blobs.get("a/b/c") is None
    assert keys(blobs, "") == ["a/d"]
    blobs.put("a/b/c", b"3")
    assert blobs.get("a/b/c") == b"3"
