"""Where a project's knowledge documents are kept: an item each, their text as a blob.

The text goes first, under a key of its own per revision, and the item names it: a reader sees one revision, whole. A
write that dies in between leaves a blob that nothing names. The index over the documents is somebody else's.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from parley.domain import keys
from parley.domain.documents import MOST_DOCUMENTS, Document
from parley.domain.errors import Conflict, SaveConflict
from parley.turns.ports import Blobs, Clock, ConditionFailed, Item, Store

_TRIES = 10
_PAGE = 100


class Documents:
    """The documents of one project."""

    def __init__(self, store: Store, blobs: Blobs, clock: Clock, project_id: str) -> None:
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._partition = keys.documents_partition(project_id)
        self._texts = keys.document_texts(project_id)

    def get(self, document_id: str) -> Document | None:
        """The document, or None."""
        item = self._store.get(self._partition, keys.document(document_id))
        return None if item is None else Document.model_validate_json(item.body)

    def list(self, *, after: str | None = None, limit: int = _PAGE) -> list[Document]:
        """Documents by id, ``after`` left out. Fewer than ``limit`` are the end."""
        behind = keys.document(after) if after else None
        found = self._store.query(self._partition, keys.DOCUMENTS, after=behind, limit=limit)
        return [Document.model_validate_json(item.body) for item in found]

    def all(self) -> Iterator[Document]:
        """Every document, by id."""
        after: str | None = None
        while page := self.list(after=after):
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].document_id

    def read(self, document_id: str) -> tuple[Document, str] | None:
        """The document and its text, or None."""
        for _ in range(_TRIES):
            document = self.get(document_id)
            if document is None:
                return None
            if (text := self._blobs.get(self._texts + document.revision)) is not None:
                return document, text.decode()
        return None  # replaced under each try: gone, as far as a reader can tell

    def put(self, document_id: str, title: str, content: str) -> Document:
        """Make or replace a document; the last write wins. Raises Conflict when the project is full."""
        encoded = content.encode()
        revision = uuid.uuid4().hex
        document = Document(
            document_id=document_id,
            title=title,
            size=len(encoded),
            revision=revision,
            updated_at=self._clock.now(),
        )
        sort = keys.document(document_id)
        if self._store.get(self._partition, sort) is None:
            self._require_room()
        self._blobs.put(self._texts + revision, encoded, content_type="text/plain; charset=utf-8")
        for _ in range(_TRIES):
            known = self._store.get(self._partition, sort)
            item = Item(self._partition, sort, document.model_dump_json())
            try:
                self._store.put(item, if_version=0 if known is None else known.version)
            except ConditionFailed:
                continue
            self._forget_text(known)
            return document
        raise SaveConflict(f"{document_id} changed under each of {_TRIES} tries to save it")

    def delete(self, document_id: str) -> bool:
        """Remove the document and its text. Whether it was there."""
        sort = keys.document(document_id)
        for _ in range(_TRIES):
            known = self._store.get(self._partition, sort)
            if known is None:
                return False
            try:
                self._store.delete(self._partition, sort, if_version=known.version)
            except ConditionFailed:
                continue
            self._forget_text(known)
            return True
        raise SaveConflict(f"{document_id} changed under each of {_TRIES} tries to remove it")

    def _forget_text(self, item: Item | None) -> None:
        if item is not None:
            self._blobs.delete(self._texts + Document.model_validate_json(item.body).revision)

    def _require_room(self) -> None:
        if len(self._store.query(self._partition, keys.DOCUMENTS, limit=MOST_DOCUMENTS)) >= MOST_DOCUMENTS:
            raise Conflict(
                "too_many_documents", f"A project has at most {MOST_DOCUMENTS:,} documents; remove one first."
            )
