"""Knowledge documents: their ids, their limits, and what one is called that nobody gave a title.

An id is a path like a workspace file's, ``policies/returns.md``: names people know, and folders to keep them in order.
"""

from __future__ import annotations

from parley.domain.files import path_fault
from parley.domain.passages import lines
from parley.domain.values import Value

LARGEST_DOCUMENT = 1024 * 1024
"""Bytes in UTF-8: of a text of that size a model would see a few thousandths."""
MOST_DOCUMENTS = 1000
"""Documents of a project."""
LONGEST_TITLE = 200
LONGEST_QUERY = 1000
"""Characters. Whole questions fit; whole documents are no queries."""
MOST_PASSAGES = 20
"""Passages of one search."""


class Document(Value):
    """A document without its text: ``size`` in bytes, ``updated_at`` in epoch seconds.

    ``revision`` is new with every PUT: by it a passage says which text it is from.
    """

    document_id: str
    title: str
    size: int
    revision: str
    updated_at: float


def id_fault(document_id: str) -> str | None:
    """What is wrong with a document's id, to be read behind its name; None if it may be one."""
    return path_fault(document_id)


def content_fault(content: str) -> str | None:
    """What is wrong with a document's text, apart from its size."""
    try:
        content.encode()
    except UnicodeEncodeError:
        return "must be valid text"
    return None if content.strip() else "must have some text in it"


def title_of(document_id: str, content: str) -> str:
    """The text's first heading, else the id's last part without its ending."""
    found = next((heading[1] for _, heading in lines(content) if heading and one_line(heading[1])), None)
    title = found or document_id.rpartition("/")[2].rpartition(".")[0] or document_id
    return one_line(title)[:LONGEST_TITLE]


def one_line(text: str) -> str:
    """The text in one line, with nothing in it that cannot be seen."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
