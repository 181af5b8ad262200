"""What the use cases need of a knowledge base: an index over documents whose truth lies elsewhere.

See ``ports`` for the rest of the world, and ``documents`` for where the documents are kept.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

from parley.domain.documents import Document


class Hit(NamedTuple):
    """A passage that an index found. ``start``: characters from the document's beginning, None where unknown.

    ``score`` compares the hits of one search, larger is better; the scale is the index's own.
    """

    document_id: str
    revision: str
    text: str
    heading: str
    start: int | None
    score: float


class IndexState(StrEnum):
    """Whether a document can be found."""

    INDEXED = "indexed"
    INDEXING = "indexing"
    FAILED = "failed"


class Indexed(NamedTuple):
    """A document's state in the index, and words about it if there is something to say."""

    state: IndexState
    reason: str | None = None


class Knowledge(Protocol):
    """An index of all projects' documents. Raises StoreUnavailable and StorageError as the Store does."""

    def add(self, project_id: str, document: Document, text: str) -> None:
        """Take a document in, in place of what was known of it. It may take a moment until it is found."""
        ...

    def remove(self, project_id: str, document_id: str) -> None:
        """Forget a document, if it is known."""
        ...

    def search(self, project_id: str, query: str, limit: int) -> list[Hit]:
        """The best passages of the project's documents, the best first. Any text is a query."""
        ...

    def state(self, project_id: str, document: Document) -> Indexed:
        """Whether this revision of the document can be found."""
        ...
