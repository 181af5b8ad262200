"""The knowledge index in a Bedrock knowledge base with a custom data source: one call per operation.

Bedrock cuts the texts into passages and embeds them, some seconds after it took them. One knowledge base serves all
projects: each document carries its project, by which every search is filtered.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from botocore.exceptions import ClientError

from parley.aws import clients
from parley.aws.faults import calling, code_of
from parley.domain.documents import Document
from parley.domain.errors import Conflict, StoreUnavailable
from parley.turns.knowledge_ports import Hit, Indexed, IndexState

if TYPE_CHECKING:
    from boto3.session import Session

_log = logging.getLogger(__name__)

PROJECT: Final = "parley_project"
REVISION: Final = "parley_revision"
"""Metadata of a document. Its id is in its place: vector stores keep little metadata, some only 1 KB."""
_BUSY: Final = frozenset({"ConflictException", "ServiceQuotaExceededException"})
"""Another change is under way, or too many documents are at once."""

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent_KnowledgeBaseDocumentDetail.html
_STATES: Final = {
    "INDEXED": IndexState.INDEXED,
    "PARTIALLY_INDEXED": IndexState.INDEXED,
    "METADATA_PARTIALLY_INDEXED": IndexState.INDEXED,
    "PENDING": IndexState.INDEXING,
    "STARTING": IndexState.INDEXING,
    "IN_PROGRESS": IndexState.INDEXING,
}
_ABSENT: Final = frozenset({"NOT_FOUND", "DELETING", "DELETE_IN_PROGRESS"})


class BedrockKnowledge:
    """`parley.turns.knowledge_ports.Knowledge` over a knowledge base and its data source, by their ids."""

    def __init__(self, management: Any, retrieval: Any, knowledge_base: str, data_source: str) -> None:
        self._management = management
        self._retrieval = retrieval
        self._knowledge_base = knowledge_base
        self._source = {"knowledgeBaseId": knowledge_base, "dataSourceId": data_source}

    def add(self, project_id: str, document: Document, text: str) -> None:
        """One IngestKnowledgeBaseDocuments: a document that is known is overwritten."""
        facts = {PROJECT: project_id, REVISION: document.revision}
        attributes = [
            {"key": key, "value": {"type": "STRING", "stringValue": value}} for key, value in facts.items()
        ]
        custom = {
            "customDocumentIdentifier": {"id": _place(project_id, document.document_id)},
            "sourceType": "IN_LINE",
            "inlineContent": {"type": "TEXT", "textContent": {"data": text}},
        }
        content = {"dataSourceType": "CUSTOM", "custom": custom}
        metadata = {"type": "IN_LINE_ATTRIBUTE", "inlineAttributes": attributes}
        with _asking():
            self._management.ingest_knowledge_base_documents(
                **self._source, documents=[{"content": content, "metadata": metadata}]
            )

    def remove(self, project_id: str, document_id: str) -> None:
        """One DeleteKnowledgeBaseDocuments, which is content with a document that is not there."""
        with _asking():
            self._management.delete_knowledge_base_documents(
                **self._source, documentIdentifiers=[_identifier(project_id, document_id)]
            )

    def search(self, project_id: str, query: str, limit: int) -> list[Hit]:
        """One Retrieve, over this project's documents alone."""
        wanted = {
            "numberOfResults": limit,
            "filter": {"equals": {"key": PROJECT, "value": project_id}},
        }
        with _asking():
            answer = self._retrieval.retrieve(
                knowledgeBaseId=self._knowledge_base,
                retrievalQuery={"text": query},
                retrievalConfiguration={"vectorSearchConfiguration": wanted},
            )
        hits = (_hit(project_id, result) for result in answer["retrievalResults"])
        return [hit for hit in hits if hit is not None]

    def state(self, project_id: str, document: Document) -> Indexed:
        """One GetKnowledgeBaseDocuments; Bedrock's own reason for what failed."""
        with _asking():
            answer = self._management.get_knowledge_base_documents(
                **self._source, documentIdentifiers=[_identifier(project_id, document.document_id)]
            )
        details = answer["documentDetails"]
        status = details[0]["status"] if details else "NOT_FOUND"
        if status in _ABSENT:
            return Indexed(IndexState.FAILED, "it is not in the index; put it again")
        return Indexed(_STATES.get(status, IndexState.FAILED), details[0].get("statusReason") or None)


def bedrock_knowledge(session: Session, knowledge_base: str, data_source: str) -> BedrockKnowledge:
    """The knowledge base of these ids."""
    management, retrieval = clients.bedrock_agent(session), clients.bedrock_agent_runtime(session)
    return BedrockKnowledge(management, retrieval, knowledge_base, data_source)


def _place(project_id: str, document_id: str) -> str:
    """A document's id among all projects' documents; no two make the same."""
    return f"{quote(project_id, safe='')}/{document_id}"


def _identifier(project_id: str, document_id: str) -> dict[str, Any]:
    return {"dataSourceType": "CUSTOM", "custom": {"id": _place(project_id, document_id)}}


def _hit(project_id: str, result: dict[str, Any]) -> Hit | None:
    """A passage of the project; None for what somebody else put into the knowledge base."""
    place = result.get("location", {}).get("customDocumentLocation", {}).get("id", "")
    ours = _place(project_id, "")
    text = result["content"].get("text", "")
    if not place.startswith(ours) or not text:
        return None
    revision = str(result.get("metadata", {}).get(REVISION, ""))
    return Hit(place.removeprefix(ours), revision, text, "", None, result.get("score", 0.0))


@contextmanager
def _asking() -> Iterator[None]:
    """Raise StoreUnavailable for what may work later, and Conflict for what the stack's owner has to look at."""
    try:
        with calling("Bedrock's knowledge base"):
            yield
    except ClientError as error:
        code = code_of(error)
        if code in _BUSY:
            raise StoreUnavailable(f"Bedrock's knowledge base is busy: {code}") from error
        _log.error("the knowledge base refused a request: %s", error)
        raise Conflict(
            "knowledge_base_refused",
            f"Bedrock's knowledge base refused this ({code}); the function's log says why.",
        ) from error
