"""Routes of a project's knowledge base: its documents, and the search over them."""

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from on_http.answers import Limit, Name, Written
from on_http.resolver import current_user, whole
from parley import wiring
from parley.domain.documents import MOST_PASSAGES
from parley.turns import knowledge

router = Router()  # type: ignore[no-untyped-call]
PROJECT = "/api/projects/<project>"
DOCUMENTS = f"{PROJECT}/documents"
DOCUMENT = f"{DOCUMENTS}/<id+>"
DocumentId = Annotated[str, Path(description="The document's id, slashes and all")]
DocumentCursor = Annotated[str | None, Query(max_length=800, description="`next` of the page before")]
SearchQuery = Annotated[str, Query(min_length=1, description="A question, or words of the answer")]
Passages = Annotated[int, Query(ge=1, le=MOST_PASSAGES, description="How many passages")]


class DocumentInput(Written):
    """A document's text, and its title if not its first heading's."""

    title: str | None = None
    content: str


@router.get(DOCUMENTS, tags=["knowledge"])
def list_documents(project: Name, limit: Limit = 100, cursor: DocumentCursor = None) -> dict[str, Any]:
    """The project's knowledge documents, by id."""
    return knowledge.list_documents(wiring.runtime(), current_user(), project, limit=limit, cursor=cursor)


@router.get(DOCUMENT, tags=["knowledge"])
def get_document(project: Name, id: DocumentId) -> dict[str, Any]:
    """A document with its text, and whether it can be found already."""
    return knowledge.get_document(wiring.runtime(), current_user(), project, whole("id", id))


@router.put(DOCUMENT, tags=["knowledge"])
def put_document(project: Name, id: DocumentId, document: DocumentInput) -> dict[str, Any]:
    """Make or replace a document."""
    runtime, caller = wiring.runtime(), current_user()
    title, content = document.title, document.content
    return knowledge.put_document(runtime, caller, project, whole("id", id), title=title, content=content)


@router.delete(DOCUMENT, tags=["knowledge"])
def delete_document(project: Name, id: DocumentId) -> dict[str, Any]:
    """Remove a document."""
    return knowledge.delete_document(wiring.runtime(), current_user(), project, whole("id", id))


@router.get(f"{PROJECT}/knowledge", tags=["knowledge"])
def search(project: Name, query: SearchQuery, limit: Passages = 5) -> dict[str, Any]:
    """The passages of the project's documents that fit a query best."""
    return knowledge.search(wiring.runtime(), current_user(), project, query=query, limit=limit)
