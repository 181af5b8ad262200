"""A project's knowledge base: documents that people put there, and the search over them.

The documents are the truth (``documents``), the index follows them. What an index gives is held against the documents
before anybody sees it: a passage of a removed or replaced text is no answer, however far the index lags behind.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from parley.domain.documents import (
    LARGEST_DOCUMENT,
    LONGEST_QUERY,
    LONGEST_TITLE,
    Document,
    content_fault,
    id_fault,
    one_line,
    title_of,
)
from parley.domain.errors import Conflict, InvalidRequest, Refusal, SaveConflict, TooLarge
from parley.domain.passages import BETWEEN
from parley.turns import projects
from parley.turns.documents import Documents
from parley.turns.knowledge_ports import Hit, Indexed, Knowledge
from parley.turns.read_threads import decode_cursor, encode_cursor
from parley.turns.runtime import Runtime

NO_KNOWLEDGE = (
    "This installation has no knowledge base. On AWS, deploy the stack with the parameters KnowledgeBaseId and "
    "KnowledgeDataSourceId of a Bedrock knowledge base that has a custom data source."
)
_log = logging.getLogger("parley.knowledge")
_TRIES = 10
_SPARE = 2
"""Asked for per passage wanted, as some may be of texts that are no more."""


def document_link(project_id: str, document_id: str) -> str:
    """The route of a document, to be read by any member of the project."""
    return f"/api/projects/{quote(project_id, safe='')}/documents/{quote(document_id)}"


class Found(NamedTuple):
    """A passage and the document that it is from. ``heading``: below the title. The rest as in ``Hit``."""

    document_id: str
    title: str
    heading: str
    start: int | None
    text: str
    score: float


class ProjectKnowledge:
    """The knowledge base of one project. Ids and texts are checked here, whoever asks."""

    def __init__(self, documents: Documents, index: Knowledge, project_id: str) -> None:
        self.documents = documents
        self._index = index
        self.project_id = project_id

    def put(self, document_id: str, title: str | None, content: str) -> Document:
        """Make or replace a document. Raises InvalidRequest, TooLarge and Conflict."""
        _check(id_fault(document_id), "id")
        _check(content_fault(content), "content")
        if len(content.encode()) > LARGEST_DOCUMENT:
            raise TooLarge("too_large", f"content: must have at most {LARGEST_DOCUMENT:,} bytes in UTF-8.")
        document = self.documents.put(document_id, _title(title) or title_of(document_id, content), content)
        self._follow(document_id)
        return document

    def remove(self, document_id: str) -> bool:
        """Remove a document. Whether it was there; if not, the index forgets what a broken removal left in it."""
        _check(id_fault(document_id), "id")
        was_there = self.documents.delete(document_id)
        self._follow(document_id)
        return was_there

    def search(self, query: str, limit: int) -> list[Found]:
        """At most ``limit`` passages of the documents as they are now, the best first. Any text is a query."""
        found: list[Found] = []
        known: dict[str, Document | None] = {}
        asked = one_line(query)
        for hit in self._index.search(self.project_id, asked, limit * _SPARE) if asked else ():
            if hit.document_id not in known:
                known[hit.document_id] = self.documents.get(hit.document_id)
            document = known[hit.document_id]
            if document is not None and document.revision == hit.revision:
                found.append(_found(hit, document))
            if len(found) == limit:
                break
        return found

    def state(self, document: Document) -> Indexed:
        """Whether the document can be found."""
        return self._index.state(self.project_id, document)

    def _follow(self, document_id: str) -> None:
        """Make the index agree with the document, whoever else changes it: the last one to write looks again."""
        for _ in range(_TRIES):
            read = self.documents.read(document_id)
            if read is None:
                self._index.remove(self.project_id, document_id)
            else:
                self._index.add(self.project_id, *read)
            now = self.documents.get(document_id)
            if (now and now.revision) == (read and read[0].revision):
                return
        raise SaveConflict(f"{document_id} changed under each of {_TRIES} tries to index it")


def _found(hit: Hit, document: Document) -> Found:
    heading = "" if hit.heading == document.title else hit.heading.removeprefix(f"{document.title}{BETWEEN}")
    return Found(hit.document_id, document.title, heading, hit.start, hit.text, hit.score)


def _check(fault: str | None, name: str) -> None:
    if fault:
        raise InvalidRequest("invalid_request", f"{name}: {fault}.")


def _title(title: str | None) -> str:
    """One line, or none."""
    title = one_line(title or "")
    if len(title) > LONGEST_TITLE:
        raise InvalidRequest("invalid_request", f"title: must have at most {LONGEST_TITLE} characters.")
    return title


def knowledge_of(runtime: Runtime, project_id: str) -> ProjectKnowledge:
    """A project's knowledge base. Raises Conflict where the installation has none."""
    if runtime.knowledge is None:
        raise Conflict("no_knowledge_base", NO_KNOWLEDGE)
    documents = Documents(runtime.store, runtime.blobs, runtime.clock, project_id)
    return ProjectKnowledge(documents, runtime.knowledge, project_id)


def install(runtime: Runtime, project_id: str, documents: Mapping[str, str]) -> None:
    """Put the texts of a function pack there, by id, unless they are, and if the installation has a knowledge base.

    What its index refuses is logged: a demo is no reason to answer nobody.
    """
    if runtime.knowledge is None:
        return
    try:
        knowledge = knowledge_of(runtime, project_id)
        for document_id, content in documents.items():
            if knowledge.documents.get(document_id) is None:
                knowledge.put(document_id, None, content)
    except Refusal as refusal:
        _log.warning("the pack's documents are not in the knowledge base: %s", refusal)


def _of_member(runtime: Runtime, user_id: str, project_id: str) -> ProjectKnowledge:
    projects.require_member(runtime, user_id, project_id)
    return knowledge_of(runtime, project_id)


def _shown(document: Document) -> dict[str, Any]:
    return {
        "id": document.document_id,
        "title": document.title,
        "size": document.size,
        "updated_at": document.updated_at,
    }


def list_documents(
    runtime: Runtime, user_id: str, project_id: str, *, limit: int, cursor: str | None
) -> dict[str, Any]:
    """``{"documents": [{"id", "title", "size", "updated_at"}], "next"}``, by id."""
    knowledge = _of_member(runtime, user_id, project_id)
    found = knowledge.documents.list(after=decode_cursor(cursor, ""), limit=limit)
    following = encode_cursor(found[-1].document_id) if len(found) == limit else None
    return {"documents": [_shown(document) for document in found], "next": following}


def get_document(runtime: Runtime, user_id: str, project_id: str, document_id: str) -> dict[str, Any]:
    """A document with its ``content``, and ``state`` (with a ``reason``, if there is one): whether it can be found."""
    knowledge = _of_member(runtime, user_id, project_id)
    _check(id_fault(document_id), "id")
    read = knowledge.documents.read(document_id)
    if read is None:
        raise projects.not_found("document")
    document, content = read
    state, reason = knowledge.state(document)
    return {**_shown(document), "content": content, "state": state.value, "reason": reason}


def put_document(
    runtime: Runtime, user_id: str, project_id: str, document_id: str, *, title: str | None, content: str
) -> dict[str, Any]:
    """Make or replace a document; its ``{"id", "title", "size", "updated_at"}``."""
    return _shown(_of_member(runtime, user_id, project_id).put(document_id, title, content))


def delete_document(runtime: Runtime, user_id: str, project_id: str, document_id: str) -> dict[str, Any]:
    """Remove a document; ``{"id", "deleted": true}``. Raises NotFound."""
    if not _of_member(runtime, user_id, project_id).remove(document_id):
        raise projects.not_found("document")
    return {"id": document_id, "deleted": True}


def search(runtime: Runtime, user_id: str, project_id: str, *, query: str, limit: int) -> dict[str, Any]:
    """``{"passages": [{"document_id", "title", "heading", "start", "text", "score"}]}``, the best first."""
    knowledge = _of_member(runtime, user_id, project_id)
    if len(query) > LONGEST_QUERY:
        raise InvalidRequest("invalid_request", f"query: must have at most {LONGEST_QUERY:,} characters.")
    return {"passages": [found._asdict() for found in knowledge.search(query, limit)]}
