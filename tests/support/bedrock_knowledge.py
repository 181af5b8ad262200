"""A Bedrock knowledge base in this process: what moto has not. botocore itself checks what is sent against the API.

Hand-built after the API reference of IngestKnowledgeBaseDocuments, GetKnowledgeBaseDocuments,
DeleteKnowledgeBaseDocuments and Retrieve. As a vector store does, it answers any query with the nearest passages there
are, however far; near is who shares words.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

KNOWLEDGE_BASE = "KB00000001"
DATA_SOURCE = "DS00000001"
PASSAGE = 800
"""Characters of a passage here."""


@dataclass
class KnowledgeBase:
    """What was ingested, by id. ``lagging``: what comes in meanwhile is not indexed. ``refusing``: an error's code."""

    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    lagging: bool = False
    refusing: str = ""
    calls: list[str] = field(default_factory=list)

    def answer_on(self, events: Any) -> None:
        """Answer the clients made of a session from now on."""
        for operation, answer in {
            "bedrock-agent.IngestKnowledgeBaseDocuments": self._ingest,
            "bedrock-agent.GetKnowledgeBaseDocuments": self._get,
            "bedrock-agent.DeleteKnowledgeBaseDocuments": self._delete,
            "bedrock-agent-runtime.Retrieve": self._retrieve,
        }.items():
            events.register(f"before-send.{operation}", self._handler(operation, answer))

    def catch_up(self) -> None:
        """What was still being indexed, is."""
        for document in self.documents.values():
            document["status"] = "INDEXED"

    def _handler(self, operation: str, answer: Any) -> Any:
        def handle(request: Any, **_: Any) -> AWSResponse:
            self.calls.append(operation.partition(".")[2])
            if self.refusing:
                status = 429 if "Throttl" in self.refusing else 400
                return _response(request, status, {"message": "refused", "__type": self.refusing})
            path = unquote(urlsplit(request.url).path)
            if KNOWLEDGE_BASE not in path:
                return _response(request, 404, {"message": "none", "__type": "ResourceNotFoundException"})
            return _response(request, 200, answer(json.loads(request.body)))

        return handle

    def _ingest(self, body: dict[str, Any]) -> dict[str, Any]:
        details = []
        for document in body["documents"]:
            custom = document["content"]["custom"]
            attributes = document["metadata"]["inlineAttributes"]
            place = custom["customDocumentIdentifier"]["id"]
            self.documents[place] = {
                "text": custom["inlineContent"]["textContent"]["data"],
                "metadata": {each["key"]: each["value"]["stringValue"] for each in attributes},
                "status": "IN_PROGRESS" if self.lagging else "INDEXED",
            }
            details.append(_detail(place, "STARTING"))
        return {"documentDetails": details}

    def _get(self, body: dict[str, Any]) -> dict[str, Any]:
        places = [each["custom"]["id"] for each in body["documentIdentifiers"]]
        known = [self.documents.get(place, {"status": "NOT_FOUND"}) for place in places]
        return {
            "documentDetails": [
                _detail(place, document["status"]) for place, document in zip(places, known, strict=True)
            ]
        }

    def _delete(self, body: dict[str, Any]) -> dict[str, Any]:
        places = [each["custom"]["id"] for each in body["documentIdentifiers"]]
        for place in places:
            self.documents.pop(place, None)
        return {"documentDetails": [_detail(place, "DELETING") for place in places]}

    def _retrieve(self, body: dict[str, Any]) -> dict[str, Any]:
        wanted = body["retrievalConfiguration"]["vectorSearchConfiguration"]
        equals = wanted["filter"]["equals"]
        asked = _words(body["retrievalQuery"]["text"])
        results: list[dict[str, Any]] = [
            {
                "content": {"type": "TEXT", "text": part},
                "location": {"type": "CUSTOM", "customDocumentLocation": {"id": place}},
                "metadata": {"x-amz-bedrock-kb-data-source-id": DATA_SOURCE, **document["metadata"]},
                "score": len(asked & _words(part)) / max(len(asked), 1),
            }
            for place, document in self.documents.items()
            if document["status"] == "INDEXED" and document["metadata"].get(equals["key"]) == equals["value"]
            for part in _parts(document["text"])
        ]
        results.sort(key=lambda result: -result["score"])
        return {"retrievalResults": results[: wanted["numberOfResults"]]}


def _parts(text: str) -> list[str]:
    parts = (text[at : at + PASSAGE].strip() for at in range(0, len(text), PASSAGE))
    return [part for part in parts if part]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _detail(place: str, status: str) -> dict[str, Any]:
    return {
        "knowledgeBaseId": KNOWLEDGE_BASE,
        "dataSourceId": DATA_SOURCE,
        "status": status,
        "identifier": {"dataSourceType": "CUSTOM", "custom": {"id": place}},
    }


class _Body:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self, *_: Any, **__: Any) -> bytes:
        content, self._content = self._content, b""
        return content

    def stream(self, *_: Any, **__: Any) -> Any:
        yield self.read()


def _response(request: Any, status: int, body: dict[str, Any]) -> AWSResponse:
    headers = HTTPHeaders()
    headers["x-amzn-requestid"] = "test"
    if "__type" in body:
        headers["x-amzn-ErrorType"] = body["__type"]
    return AWSResponse(request.url, status, headers, _Body(json.dumps(body).encode()))
