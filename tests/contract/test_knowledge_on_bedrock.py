"""The knowledge index in Bedrock: what is asked of it, and what its troubles become."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.aws.knowledge import PROJECT, bedrock_knowledge
from parley.domain.errors import Conflict, StoreUnavailable
from parley.embedded.blobs import FolderBlobs
from parley.turns.knowledge_ports import IndexState
from tests.contract.test_knowledge import RETURNS, Library, ids
from tests.support.bedrock_knowledge import DATA_SOURCE, KNOWLEDGE_BASE, KnowledgeBase
from tests.support.moto_aws import MockedAws


@pytest.fixture
def bedrock(aws: MockedAws):
    aws.knowledge.documents.clear()
    aws.knowledge.calls.clear()
    yield aws.knowledge
    aws.knowledge.lagging, aws.knowledge.refusing = False, ""


@pytest.fixture
def library(aws: MockedAws, tmp_path: Path) -> Library:
    return Library(bedrock_knowledge(aws.session, KNOWLEDGE_BASE, DATA_SOURCE), FolderBlobs(tmp_path))


def test_a_document_carries_its_project_and_a_search_is_filtered_by_it(
    library: Library, bedrock: KnowledgeBase
) -> None:
    library.project("a b/c").put("x/y.md", None, RETURNS)
    assert list(bedrock.documents) == ["a%20b%2Fc/x/y.md"]
    assert bedrock.documents["a%20b%2Fc/x/y.md"]["metadata"][PROJECT] == "a b/c"
    assert ids(library.project("a b/c").search("photograph", 5)) == ["x/y.md"]
    assert bedrock.calls == ["IngestKnowledgeBaseDocuments", "Retrieve"]


def test_what_bedrock_still_works_on_is_said_and_not_yet_found(
    library: Library, bedrock: KnowledgeBase
) -> None:
    shop = library.project("demo")
    bedrock.lagging = True
    document = shop.put("a", None, RETURNS)
    assert shop.state(document).state is IndexState.INDEXING
    assert shop.search("photograph", 5) == []
    bedrock.catch_up()
    assert shop.state(document).state is IndexState.INDEXED
    assert ids(shop.search("photograph", 5)) == ["a"]


@pytest.mark.parametrize("status", ["FAILED", "IGNORED", "METADATA_UPDATE_FAILED", "A_NEW_ONE"])
def test_a_document_that_bedrock_could_not_take_says_so(
    library: Library, bedrock: KnowledgeBase, status: str
) -> None:
    shop = library.project("demo")
    document = shop.put("a", None, RETURNS)
    bedrock.documents["demo/a"]["status"] = status
    assert shop.state(document).state is IndexState.FAILED


def test_a_document_that_the_index_lost_says_what_to_do(library: Library, bedrock: KnowledgeBase) -> None:
    shop = library.project("demo")
    document = shop.put("a", None, RETURNS)
    bedrock.documents.clear()
    assert shop.state(document) == (IndexState.FAILED, "it is not in the index; put it again")


def test_a_passage_of_a_text_that_was_replaced_since_is_no_answer(
    library: Library, bedrock: KnowledgeBase
) -> None:
    shop = library.project("demo")
    shop.put("a", None, "The code word is xylophone.")
    shop.documents.put("a", "A", "The code word is marimba.")
    assert shop.search("xylophone", 5) == []


def test_passages_that_others_put_into_the_knowledge_base_are_left_out(
    library: Library, bedrock: KnowledgeBase
) -> None:
    shop = library.project("demo")
    shop.put("a", None, RETURNS)
    bedrock.documents["elsewhere/a"] = {**bedrock.documents["demo/a"], "text": "planted"}
    assert [hit.document_id for hit in library.index.search("demo", "planted", 5)] == ["a"]


@pytest.mark.parametrize(
    "code", ["ThrottlingException", "ConflictException", "ServiceQuotaExceededException"]
)
def test_a_busy_knowledge_base_may_be_asked_again(
    library: Library, bedrock: KnowledgeBase, code: str
) -> None:
    bedrock.refusing = code
    with pytest.raises(StoreUnavailable, match=code):
        library.project("demo").search("x", 5)


@pytest.mark.parametrize(
    "code", ["AccessDeniedException", "ResourceNotFoundException", "ValidationException"]
)
def test_a_knowledge_base_that_refuses_is_the_owners_matter(
    library: Library, bedrock: KnowledgeBase, code: str
) -> None:
    bedrock.refusing = code
    with pytest.raises(Conflict, match=f"refused this \\({code}\\); the function's log says why"):
        library.project("demo").put("a", None, "x")
