"""Files and folders as knowledge documents: which are text, what they are called, what of HTML is text.

A document's id is the path as it was written, so that adding `docs` and adding `docs/returns.md` mean the same
document. Of paths that leave the current folder only the last part is kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from parley.cli.failure import CommandFailed
from parley.cli.html_text import text_of_html
from parley.domain.documents import LARGEST_DOCUMENT
from parley.domain.files import as_text

HTML = (".html", ".htm")
ENDINGS = (".md", ".markdown", ".txt", ".text", ".rst", ".adoc", *HTML)
"""Of a folder's files, these are documents. A file that is named may have any ending."""
_LARGEST_HTML = 16 * LARGEST_DOCUMENT
_KINDS = {
    b"%PDF": "is a PDF; make it a text file first, for instance with pdftotext",
    b"PK\x03\x04": "is a Word document or another archive; save it as text, Markdown or HTML first",
    b"\xd0\xcf\x11\xe0": "is an old Word document; save it as text, Markdown or HTML first",
}


class NotText(Exception):
    """A file that cannot be a document; the message says why, to be read behind its name."""


class Found(NamedTuple):
    """What there is to add; of folders, what was left out; of the paths that were given, what is wrong with each that
    gives nothing.
    """

    files: list[DocumentFile]
    left_out: list[Path]
    faults: list[str]


class DocumentFile(NamedTuple):
    """A file to be added under an id."""

    document_id: str
    path: Path

    def read(self) -> tuple[str | None, str]:
        """Its title, if it has one of its own, and its text. Raises NotText."""
        try:
            with self.path.open("rb") as file:
                content = file.read(_LARGEST_HTML + 1)
        except OSError as error:
            raise NotText(f"cannot be read: {error.strerror or error}") from error
        for begin, words in _KINDS.items():
            if content.startswith(begin):
                raise NotText(words)
        content = content.removeprefix(b"\xef\xbb\xbf")
        if self.path.suffix.lower() in HTML and len(content) <= _LARGEST_HTML:
            try:
                return text_of_html(content.decode())
            except UnicodeDecodeError:
                raise NotText("is not UTF-8; save it as UTF-8 first") from None
        if len(content) > LARGEST_DOCUMENT:
            raise NotText(f"has more than {LARGEST_DOCUMENT:,} bytes; split it into several files")
        text = as_text(content)
        if text is None:
            raise NotText("is no text in UTF-8; save it as text, Markdown or HTML in UTF-8 first")
        return None, text


def document_files(paths: Iterable[str]) -> Found:
    """The files at these paths. Raises CommandFailed for two that would be one document."""
    found: dict[str, DocumentFile] = {}
    left_out: list[Path] = []
    faults: list[str] = []
    for given in paths:
        path = Path(given)
        if not path.exists():
            faults.append(f"{given}: there is no such file or folder")
            continue
        documents, others = _below(path) if path.is_dir() else ([path], [])
        left_out += others
        if not documents:
            faults.append(f"{given} has no files that end in {', '.join(ENDINGS)}")
        name = _name(given)
        for file in documents:
            document_id = "/".join((*name, *file.relative_to(path).parts))
            known = found.setdefault(document_id, DocumentFile(document_id, file))
            if not known.path.samefile(file):
                raise CommandFailed(
                    f"{known.path} and {file} would both be {document_id}; add them one by one"
                )
    return Found(list(found.values()), left_out, faults)


def _below(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files below a folder, but hidden ones, in order: those that are documents, and the others."""
    documents: list[Path] = []
    others: list[Path] = []
    for file in sorted(_walk(folder)):
        (documents if file.suffix.lower() in ENDINGS else others).append(file)
    return documents, others


def _walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")]
        yield from (Path(parent, each) for each in files if not each.startswith("."))


def _name(given: str) -> tuple[str, ...]:
    """The parts with which the ids of what lies at a path begin."""
    path = Path(os.path.normpath(given))
    if path.is_absolute() or ".." in path.parts:
        return (path.resolve().name,)
    return path.parts
