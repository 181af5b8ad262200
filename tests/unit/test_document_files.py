"""Files and folders as knowledge documents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.cli.document_files import NotText, document_files
from parley.cli.failure import CommandFailed
from parley.cli.html_text import text_of_html
from parley.domain.documents import LARGEST_DOCUMENT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("docs/a.md", "docs/sub/b.TXT", "docs/.hidden.md", "docs/.git/c.md", "docs/d.png", "e.notes"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return tmp_path


def ids(*paths: str) -> list[str]:
    return [file.document_id for file in document_files(paths)[0]]


def test_a_folder_gives_its_text_files_and_says_what_it_left_out(folder: Path) -> None:
    files, left_out, _ = document_files(["docs"])
    assert [file.document_id for file in files] == ["docs/a.md", "docs/sub/b.TXT"]
    assert left_out == [Path("docs/d.png")]


@pytest.mark.parametrize("given_path", ["docs", "./docs", "docs/", "docs/../docs", "docs/a.md"])
def test_a_file_has_one_id_however_its_path_is_written(folder: Path, given_path: str) -> None:
    assert "docs/a.md" in ids(given_path)


def test_paths_that_leave_the_folder_keep_their_last_part(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ids(str(folder / "docs" / "a.md")) == ["a.md"]
    assert ids(str(folder / "docs")) == ["docs/a.md", "docs/sub/b.TXT"]
    monkeypatch.chdir(folder / "docs" / "sub")
    assert ids("../a.md") == ["a.md"]
    assert ids("..") == ["docs/a.md", "docs/sub/b.TXT"]
    assert ids(".") == ["b.TXT"]


def test_a_file_that_is_named_may_have_any_ending_and_be_named_twice(folder: Path) -> None:
    assert ids("e.notes", "docs", "docs/a.md", "docs/.hidden.md") == [
        "e.notes",
        "docs/a.md",
        "docs/sub/b.TXT",
        "docs/.hidden.md",
    ]


def test_two_files_of_one_id_are_told(folder: Path) -> None:
    (folder / "a.md").write_text("another", encoding="utf-8")
    with pytest.raises(CommandFailed, match=r"would both be a\.md"):
        document_files(["a.md", str(folder / "docs" / "a.md")])


def test_what_is_not_there_or_has_nothing_is_told(folder: Path) -> None:
    (folder / "empty").mkdir()
    files, _, faults = document_files(["nowhere", "docs", "empty"])
    assert [file.document_id for file in files] == ["docs/a.md", "docs/sub/b.TXT"]
    assert faults[0] == "nowhere: there is no such file or folder"
    assert faults[1].startswith("empty has no files that end in .md, ")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.pdf", b"%PDF-1.7", "is a PDF; make it a text file first"),
        ("a.md", b"%PDF-1.7", "is a PDF"),
        ("a.docx", b"PK\x03\x04xxxx", "is a Word document"),
        ("a.doc", b"\xd0\xcf\x11\xe0", "is an old Word document"),
        ("a.txt", b"caf\xe9", "is no text in UTF-8"),
        ("a.txt", b"a\x00b", "is no text in UTF-8"),
        ("a.html", b"<p>caf\xe9", "is not UTF-8"),
        ("a.txt", b"x" * (LARGEST_DOCUMENT + 1), "has more than 1,048,576 bytes"),
    ],
)
def test_a_file_that_is_no_text_says_what_to_do(folder: Path, name: str, content: bytes, words: str) -> None:
    (folder / name).write_bytes(content)
    (file,) = document_files([name]).files
    with pytest.raises(NotText, match=words):
        file.read()


def test_a_file_that_cannot_be_read_says_why(folder: Path) -> None:
    (file,) = document_files(["docs/a.md"]).files
    os.remove(file.path)  # noqa: PTH107 - behind the file's back
    with pytest.raises(NotText, match="cannot be read: No such file"):
        file.read()


def test_a_mark_of_the_order_of_bytes_is_no_text(folder: Path) -> None:
    Path("a.txt").write_bytes(b"\xef\xbb\xbfhello")
    Path("a.html").write_bytes(b"\xef\xbb\xbf<h1>hello")
    one, other = document_files(["a.txt", "a.html"]).files
    assert one.read() == (None, "hello")
    assert other.read() == (None, "# hello\n")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h2>Two &amp; more</h2><p>One<br>line.</p>", "## Two & more\n\nOne\nline.\n"),
        ("a<script>if (a < b) bad()</script><style>p {}</style> b", "a b\n"),
        ("<ul><li>Bags<li>Belts</ul>after", "- Bags\n- Belts\n\nafter\n"),
        ("<table><tr><td>1<td>2<tr><td>3</table>", "| 1 | 2\n| 3\n"),
        ("<pre>a\n  b</pre>", "a\nb\n"),
        ("<p>broken <b>markup", "broken markup\n"),
        ("a&nbsp;b &#8364; &unknown;", "a b € &unknown;\n"),
        ("<!-- not said -->", ""),
        ("", ""),
        ("</p></script></style></head>x", "x\n"),
    ],
)
def test_html_is_read_as_a_person_would(html: str, text: str) -> None:
    assert text_of_html(html) == (None, text)


def test_a_pages_title_is_the_documents() -> None:
    page = "<html><head><title> Terms \n &amp; more</title><meta x></head><body><svg><title>no</title></svg>x"
    assert text_of_html(page) == ("Terms & more", "x\n")


def test_a_head_need_not_be_ended() -> None:
    assert text_of_html("<html><head><title>Terms</title><body><p>We pay.") == ("Terms", "We pay.\n")


@given(st.text("<>/!-&;=\"' \nabph1scriptlestyle", max_size=80))
def test_any_text_can_be_read_as_html(html: str) -> None:
    text_of_html(html)
