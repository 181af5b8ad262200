"""The knowledge index with the documents behind it, on both adapters."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parley.aws.knowledge import bedrock_knowledge
from parley.clock import MovableClock
from parley.domain.documents import LARGEST_DOCUMENT, Document
from parley.domain.errors import InvalidRequest, StoreUnavailable, TooLarge
from parley.embedded.blobs import FolderBlobs
from parley.embedded.knowledge import SqliteKnowledge
from parley.turns.documents import Documents
from parley.turns.knowledge import ProjectKnowledge
from parley.turns.knowledge_ports import Hit, Indexed, IndexState, Knowledge
from parley.turns.ports import Blobs
from tests.contract.conftest import ADAPTERS
from tests.support.bedrock_knowledge import DATA_SOURCE, KNOWLEDGE_BASE
from tests.support.memory_store import MemoryStore

RETURNS = (
    "# Returns policy\n\n## How long\n\nThirty days.\n\n## Damaged goods\n\nSend a photograph to the desk.\n"
)
HOURS = "# Opening hours\n\nThe shop is open from nine to six.\n"


NOWHERE: Any = None


class Library:
    """Projects with documents over one index. The store is in memory: it has a contract of its own."""

    def __init__(self, index: Knowledge, blobs: Blobs) -> None:
        self.index = index
        self.store = MemoryStore()
        self.blobs = blobs
        self.clock = MovableClock()

    def documents(self, project: str) -> Documents:
        return Documents(self.store, self.blobs, self.clock, project)

    def project(self, name: str = "") -> ProjectKnowledge:
        project = name or f"p-{uuid.uuid4().hex}"
        return ProjectKnowledge(self.documents(project), self.index, project)


def embedded(folder: Path) -> Library:
    library = Library(NOWHERE, FolderBlobs(folder / "blobs"))
    library.index = SqliteKnowledge(folder / "knowledge.db", library.documents)
    return library


@pytest.fixture(params=ADAPTERS)
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Library]:
    if request.param == "embedded":
        made = embedded(tmp_path)
        yield made
        made.index.close()  # type: ignore[attr-defined]
        return
    account = request.getfixturevalue("aws")
    index = bedrock_knowledge(account.session, KNOWLEDGE_BASE, DATA_SOURCE)
    yield Library(index, FolderBlobs(tmp_path))


def ids(found: list[Any]) -> list[str]:
    return [each.document_id for each in found]


def test_the_passage_that_fits_comes_first_and_says_where_it_is_from(library: Library) -> None:
    shop = library.project()
    shop.put("returns.md", None, RETURNS)
    shop.put("hours.md", "When we are open", HOURS)
    best = shop.search("photograph of damaged goods", 5)[0]
    assert (best.document_id, best.title) == ("returns.md", "Returns policy")
    assert "photograph" in best.text
    assert best.text in RETURNS
    best = shop.search("open from nine", 5)[0]
    assert (best.document_id, best.title) == ("hours.md", "When we are open")


def test_a_replaced_document_is_found_by_its_new_text_alone(library: Library) -> None:
    shop = library.project()
    shop.put("a", None, "The password is xylophone.")
    shop.put("a", None, "The password is marimba.")
    assert "marimba" in shop.search("marimba", 5)[0].text
    assert not any("xylophone" in each.text for each in shop.search("xylophone", 5))


def test_a_removed_document_is_not_found(library: Library) -> None:
    shop = library.project()
    shop.put("a", None, RETURNS)
    shop.put("b", None, HOURS)
    assert shop.remove("a")
    assert not shop.remove("a")
    assert "a" not in ids(shop.search("returns policy photograph", 5))
    assert ids(shop.search("open", 5)) == ["b"]


def test_projects_do_not_see_each_others_passages(library: Library) -> None:
    one, other = library.project(), library.project()
    one.put("a", None, "The code word is xylophone.")
    assert other.search("xylophone", 5) == []
    other.put("a", None, "Nothing to see.")
    assert not any("xylophone" in each.text for each in other.search("code word xylophone", 5))
    other.remove("a")
    assert ids(one.search("xylophone", 5)) == ["a"]


@pytest.mark.parametrize(("one", "other"), [("a", "a/b"), ("a%2Fb", "a/b"), ("shop", "SHOP")])
def test_projects_of_similar_names_are_different_projects(library: Library, one: str, other: str) -> None:
    prefix = uuid.uuid4().hex
    library.project(prefix + one).put("b/c", None, "The code word is xylophone.")
    assert library.project(prefix + other).search("xylophone", 5) == []
    assert ids(library.project(prefix + one).search("xylophone", 5)) == ["b/c"]


def test_no_more_passages_come_than_were_asked_for(library: Library) -> None:
    shop = library.project()
    for number in range(7):
        shop.put(f"{number}.md", None, f"Note {number} about whales.")
    assert len(shop.search("whales", 3)) == 3
    assert len(shop.search("whales", 20)) == 7


def test_a_project_without_documents_has_nothing(library: Library) -> None:
    assert library.project().search("anything", 5) == []


def test_a_document_says_that_it_can_be_found(library: Library) -> None:
    shop = library.project()
    document = shop.put("a", None, RETURNS)
    assert shop.state(document) == Indexed(IndexState.INDEXED)


@pytest.mark.parametrize("document_id", ["x" * 512, "deep/er/ü.md", "a b", "'\"%;--", "名/前"])
def test_any_id_will_do_that_files_may_have(library: Library, document_id: str) -> None:
    shop = library.project()
    shop.put(document_id, None, "The code word is xylophone.")
    assert ids(shop.search("xylophone", 5)) == [document_id]
    assert shop.remove(document_id)
    assert shop.search("xylophone", 5) == []


def test_the_largest_document_goes_in(library: Library) -> None:
    shop = library.project()
    text = ("lorem ipsum dolor " * 60_000)[: LARGEST_DOCUMENT - 12] + " xylophone\n\n"
    shop.put("large", None, text)
    assert "xylophone" in shop.search("xylophone", 1)[0].text


@pytest.mark.parametrize("content", ["", " \n\t", "\ud800"])
def test_a_text_with_nothing_in_it_is_refused(library: Library, content: str) -> None:
    with pytest.raises(InvalidRequest, match="content"):
        library.project().put("a", None, content)


def test_what_is_refused_says_what_is_accepted(library: Library) -> None:
    shop = library.project()
    with pytest.raises(TooLarge, match="1,048,576 bytes"):
        shop.put("a", None, "x" * (LARGEST_DOCUMENT + 1))
    with pytest.raises(InvalidRequest, match="id: must not begin or end with a slash"):
        shop.put("/a", None, "x")
    with pytest.raises(InvalidRequest, match="title: must have at most 200 characters"):
        shop.put("a", "t" * 201, "x")
    assert shop.documents.list() == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=200))
def test_any_text_is_a_query(library: Library, query: str) -> None:
    shop = library.project("the-same")
    if shop.documents.get("a") is None:
        shop.put("a", None, RETURNS)
    assert set(ids(shop.search(query, 5))) <= {"a"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.lists(st.text("ab ö京.\n#", min_size=1, max_size=60).filter(str.strip), min_size=2, max_size=2))
def test_whatever_is_searched_for_comes_from_the_projects_own_texts(
    library: Library, texts: list[str]
) -> None:
    one, other = library.project(), library.project()
    one.put("same", "one", texts[0])
    other.put("same", "other", texts[1])
    for query in texts:
        for shop, text in ((one, texts[0]), (other, texts[1])):
            for found in shop.search(query, 5):
                assert found.text in text
                assert found.title == ("one" if shop is one else "other")


@pytest.mark.parametrize(
    "query", ['"', "a AND", "NEAR(", "heading:", "*", "^a", "{a}", "a OR NOT", "-", "\x00", "'; DROP"]
)
def test_nothing_in_a_query_is_syntax(library: Library, query: str) -> None:
    shop = library.project()
    shop.put("a", None, RETURNS)
    shop.search(query, 5)
    assert "a" in ids(shop.search(f"{query} returns policy", 5))


class Interrupting:
    """An index whose ``add`` lets somebody else act in the middle of it, once."""

    def __init__(self, inner: Knowledge) -> None:
        self._inner = inner
        self.meanwhile: Any = None

    def add(self, project_id: str, document: Document, text: str) -> None:
        act, self.meanwhile = self.meanwhile, None
        if act:
            act()
        self._inner.add(project_id, document, text)

    def remove(self, project_id: str, document_id: str) -> None:
        self._inner.remove(project_id, document_id)

    def search(self, project_id: str, query: str, limit: int) -> list[Hit]:
        return self._inner.search(project_id, query, limit)

    def state(self, project_id: str, document: Document) -> Indexed:
        return self._inner.state(project_id, document)


@pytest.mark.parametrize("removed", [False, True])
def test_whoever_indexes_last_indexes_the_document_as_it_is(library: Library, removed: bool) -> None:
    shop = library.project()
    slow = Interrupting(library.index)
    slow.meanwhile = lambda: shop.remove("a") if removed else shop.put("a", None, "marimba")
    ProjectKnowledge(shop.documents, slow, shop.project_id).put("a", None, "xylophone")
    assert [each.text for each in shop.search("xylophone marimba", 5)] == ([] if removed else ["marimba"])
    assert [hit.text for hit in library.index.search(shop.project_id, "xylophone", 5)] == (
        [] if removed else ["marimba"] if "Bedrock" in type(library.index).__name__ else []
    )


def test_a_failed_index_leaves_a_document_that_another_try_completes(library: Library) -> None:
    shop = library.project()
    broken = Interrupting(library.index)

    def fail() -> None:
        raise StoreUnavailable("busy")

    broken.meanwhile = fail
    unlucky = ProjectKnowledge(shop.documents, broken, shop.project_id)
    with pytest.raises(StoreUnavailable):
        unlucky.put("a", None, "xylophone")
    assert shop.documents.get("a") is not None
    unlucky.put("a", None, "xylophone")
    assert ids(shop.search("xylophone", 5)) == ["a"]
