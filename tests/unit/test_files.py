"""Workspace files: paths, what is text, sizes, and the tree in a prompt."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.errors import InvalidRequest, TooLarge
from parley.domain.files import LARGEST_BINARY, LARGEST_TEXT, LONGEST_PATH, as_text, path_fault, prefix_fault
from parley.embedded.blobs import FolderBlobs
from parley.prompts.file_tree import MORE_FILES, MOST_CHARACTERS, MOST_LINES, file_tree
from parley.turns.files import ProjectFiles, file_link

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=30)
PARTS = st.text(st.sampled_from("ab.é 文#%"), min_size=1, max_size=6) | ANY_TEXT
PATHS = st.lists(PARTS, min_size=1, max_size=5).map("/".join) | ANY_TEXT
NAMES = st.sampled_from(["a", "b", "c.md", "d", "é", "long" * 20])
TREES = st.lists(st.lists(NAMES, min_size=1, max_size=5).map("/".join), max_size=60)
MANY = st.integers(0, 400).map(lambda count: [f"folder{number % 7}/{number}.txt" for number in range(count)])


@pytest.fixture(scope="module")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> FolderBlobs:
    return FolderBlobs(tmp_path_factory.mktemp("blobs"))


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "docs/plan.md",
        ".gitignore",
        "a b/c d",
        "é/文.txt",
        "100%",
        "a..b",
        "…",
        "#1",
        "a+b",
        "x" * 512,
        "می\u200cروم",
        "👩\u200d🚀",
    ],
)
def test_a_path_is_any_name_with_slashes(path: str) -> None:
    assert path_fault(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "../a",
        "a/../b",
        "a/./b",
        "a/..",
        "a\\b",
        "a?b",
        "a\nb",
        "a\x00",
        "a\u2028b",
        "a\u202egpj.exe",
        "a\u2066b",
        "a\u200bb",
        "a\u00adb",
        "\ud800",
        "x" * 513,
        "é" * 257,
    ],
)
def test_a_path_stays_inside_and_is_one_line_of_at_most_512_bytes(path: str) -> None:
    assert path_fault(path)


@given(path=PATHS)
def test_what_may_name_a_file_is_found_again_under_that_name_and_nothing_else_is_written(
    blobs: FolderBlobs, path: str
) -> None:
    files = ProjectFiles(blobs, "p")
    if path_fault(path):
        for refused in (files.read, files.delete, files.info, lambda path: files.write(path, b"x")):
            with pytest.raises(InvalidRequest, match="path: must "):
                refused(path)
        return
    assert len(path.encode()) <= LONGEST_PATH
    files.write(path, path.encode())
    assert files.read(path) == path.encode()
    info = files.info(path)
    assert info is not None
    assert (info.path, info.size) == (path, len(path.encode()))
    assert [file.path for file in files.list(path) if file.path == path] == [path]
    assert all(blob.key.startswith("projects/p/files/") for blob in blobs.list_keys(""))
    files.delete(path)
    assert files.read(path) is None
    assert files.info(path) is None


@given(prefix=ANY_TEXT)
def test_a_listing_by_any_prefix_is_answered_or_refused(blobs: FolderBlobs, prefix: str) -> None:
    files = ProjectFiles(blobs, "nobody")
    if prefix_fault(prefix):
        with pytest.raises(InvalidRequest, match="prefix: must "):
            files.list(prefix)
    else:
        assert files.list(prefix) == []


def test_a_project_sees_its_own_files_only_whatever_its_id(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    for project in ("p", "p/files", "../p", "p "):
        ProjectFiles(blobs, project).write("files/a", project.encode())
    for project in ("p", "p/files", "../p", "p "):
        files = ProjectFiles(blobs, project)
        assert [file.path for file in files.list()] == ["files/a"]
        assert files.read("files/a") == project.encode()
        assert files.info("files") is None


def test_files_are_listed_page_by_page_in_order(tmp_path: Path) -> None:
    files = ProjectFiles(FolderBlobs(tmp_path), "p")
    paths = sorted(f"{folder}/{number:02}" for folder in "ab" for number in range(7))
    for path in reversed(paths):
        files.write(path, b"")
    seen: list[str] = []
    while page := files.list(after=seen[-1] if seen else None, limit=4):
        seen += [file.path for file in page]
    assert seen == paths
    assert [file.path for file in files.list("b/", after="b/04")] == ["b/05", "b/06"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"", ""),
        ("héllo\r\n\tworld".encode(), "héllo\r\n\tworld"),
        (b"\xff\xfe", None),
        (b"a\x00b", None),
        (b"\x1b[1m", None),
        (b"x" * LARGEST_TEXT, "x" * LARGEST_TEXT),
        (b"x" * (LARGEST_TEXT + 1), None),
    ],
)
def test_text_is_utf_8_without_control_characters_and_not_too_large(value: bytes, text: str | None) -> None:
    assert as_text(value) == text


def test_what_is_too_large_is_refused_and_what_is_just_right_is_kept(tmp_path: Path) -> None:
    files = ProjectFiles(FolderBlobs(tmp_path), "p")
    files.write("binary", bytes(LARGEST_BINARY))
    files.write_text("text", "é" * (LARGEST_TEXT // 2))
    with pytest.raises(TooLarge, match="4,194,304 bytes"):
        files.write("binary", bytes(LARGEST_BINARY + 1))
    with pytest.raises(TooLarge, match="1,048,576 bytes"):
        files.write_text("text", "é" * (LARGEST_TEXT // 2) + "x")
    with pytest.raises(InvalidRequest, match="content: must be valid text"):
        files.write_text("text", "\ud800")
    assert [file.size for file in files.list()] == [LARGEST_BINARY, LARGEST_TEXT]


def test_a_files_link_is_its_route() -> None:
    assert file_link("demo", "a b/ü#1.png") == "/api/projects/demo/files/a%20b/%C3%BC%231.png"


def test_a_tree_shows_folders_and_files_in_order() -> None:
    paths = ["README.md", "docs/plan.md", "docs/img/a.png", "docs/img/b.png", "a", "a/b"]
    assert file_tree(paths) == "\n".join(
        [
            "- README.md",
            "- a",
            "- a/",
            "  - b",
            "- docs/",
            "  - img/",
            "    - a.png",
            "    - b.png",
            "  - plan.md",
        ]
    )


def test_no_files_are_no_tree() -> None:
    assert file_tree([]) == file_tree([], more=True) == ""


def test_a_large_folder_is_cut_and_hides_nothing_beside_it() -> None:
    tree = file_tree([f"assets/{number:04}.png" for number in range(1000)] + ["docs/a.md", "src/b/c.py"])
    lines = tree.splitlines()
    assert lines[0] == "- assets/"
    hidden = next(line for line in lines if "…" in line)
    assert re.fullmatch("  - … and [0-9]+ more", hidden)
    assert lines[lines.index(hidden) + 1 :] == ["- docs/", "  - a.md", "- src/", "  - b/", "    - c.py"]


def test_a_listing_that_was_cut_says_so() -> None:
    assert file_tree(["a"], more=True) == f"- a\n{MORE_FILES}"


@given(paths=TREES | MANY, more=st.booleans())
def test_every_file_of_a_tree_is_shown_or_counted_and_the_tree_is_bounded(
    paths: list[str], more: bool
) -> None:
    tree = file_tree(paths, more=more)
    lines = tree.splitlines()
    cut = [int(found[1]) for found in re.finditer(r"(?m)^ *- … and (\d+) more$", tree)]
    files = [line for line in lines if "…" not in line and not line.endswith("/")]
    assert len(files) + sum(cut) == len(set(paths))
    entries = [line for line in lines if "…" not in line]
    assert len(entries) <= MOST_LINES
    assert sum(len(line) + 1 for line in entries) <= MOST_CHARACTERS
    assert len(lines) <= 2 * MOST_LINES + 2
    assert file_tree(list(reversed(paths)), more=more) == tree
    top = [line for line in entries if not line.startswith(" ")]
    assert top == sorted(top)
