"""The embedded index: what it finds in which languages, and that it is only ever derived."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parley.domain.documents import MOST_DOCUMENTS
from parley.domain.errors import Conflict, StorageError
from parley.domain.words import COMMON, query_words, words
from parley.embedded.knowledge import SqliteKnowledge
from parley.turns.knowledge import ProjectKnowledge
from parley.turns.knowledge_ports import IndexState
from tests.contract.test_knowledge import RETURNS, Library, embedded, ids

TEXTS = {
    "en": "# Returns policy\n\nCustomers may return goods; refunding takes days. Write to support-desk@example.com.",
    "de": "# Rückgaberichtlinie\n\nKunden dürfen Waren innerhalb von dreißig Tagen zurückgeben.",
    "pl": "# Zwroty\n\nKlient może zwrócić towar w Łodzi.",
    "fr": "# Réclamations\n\nLes clients français écrivent à l'accueil.",
    "ja": "# 返品\n\n商品は三十日以内に返品できます。東京都のお店へ。",
    "zh": "# 退货政策\n\n顾客可以在三十天内退货。",
    "ko": "# 반품\n\n상품은 삼십일 이내에 반품할 수 있습니다.",
    "th": "# การคืนสินค้า\n\nลูกค้าคืนสินค้าได้ภายในสามสิบวัน",
    "ru": "# Возврат\n\nПокупатель может вернуть товар, ещё не носив его.",
    "ar": "# سياسة الإرجاع\n\nيمكن للعملاء إرجاع البضائع خلال ثلاثين يومًا.",
    "hi": "# वापसी नीति\n\nग्राहक तीस दिनों में सामान वापस कर सकते हैं।",
}


@pytest.fixture
def library(tmp_path: Path):
    made = embedded(tmp_path)
    yield made
    made.index.close()  # type: ignore[attr-defined]


@pytest.fixture
def polyglot(library: Library) -> ProjectKnowledge:
    shop = library.project("demo")
    for language, text in TEXTS.items():
        shop.put(language, None, text)
    return shop


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("What is the policy for returns?", "en"),
        ("policies", "en"),
        ("REFUND", "en"),
        ("refu", "en"),
        ("support-desk@example.com", "en"),
        ("SupportDesk", "en"),
        ("rückgaberichtlinie", "de"),
        ("Richtlinie", "de"),
        ("Kunde", "de"),
        ("Rueckgabe", "de"),
        ("Naturwaren", "de"),
        ("dreissig", "de"),
        ("zwrocic", "pl"),
        ("Łódź", "pl"),
        ("Lodzi", "pl"),
        ("reclamation", "fr"),
        ("FRANÇAIS", "fr"),
        ("返品", "ja"),
        ("東京", "ja"),
        ("商品は返品できますか", "ja"),
        ("退货", "zh"),
        ("货", "zh"),
        ("반품", "ko"),
        ("คืนสินค้า", "th"),
        ("возврат", "ru"),
        ("ЕЩЕ", "ru"),
        ("إرجاع", "ar"),
        ("वापसी", "hi"),
    ],
)
def test_a_document_is_found_in_its_own_language(
    polyglot: ProjectKnowledge, query: str, language: str
) -> None:
    assert ids(polyglot.search(query, 3))[0] == language


@pytest.mark.parametrize("query", ["What is the weather on Mars?", "xylophone", "wetter", "!?", "天気"])
def test_what_no_document_is_about_is_not_found(polyglot: ProjectKnowledge, query: str) -> None:
    assert polyglot.search(query, 5) == []


def test_a_heading_counts_more_than_a_mention(library: Library) -> None:
    shop = library.project()
    shop.put("mention", None, "# Opening hours\n\nAsk there about warranty and such things.")
    shop.put("subject", None, "# Warranty\n\nTwo years, for all that we sell and repair.")
    assert ids(shop.search("warranty", 5)) == ["subject", "mention"]


def test_what_is_asked_in_two_words_is_found_in_one(library: Library) -> None:
    shop = library.project()
    shop.put("one", None, "# Backup\n\nEvery night.")
    shop.put("two", None, "# Back office\n\nUp the stairs.")
    assert ids(shop.search("How do I back up my files?", 5))[0] == "one"


def test_a_passage_says_its_section_and_where_it_begins(library: Library) -> None:
    shop = library.project()
    shop.put("returns.md", None, RETURNS)
    best = shop.search("photograph", 1)[0]
    assert best.heading == "Damaged goods"
    assert best.start is not None
    assert RETURNS[best.start :].startswith(best.text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=120).filter(str.strip), min_size=2, max_size=5), st.data())
def test_a_word_that_one_document_alone_has_finds_it_until_it_is_removed(
    library: Library, texts: list[str], data: st.DataObject
) -> None:
    shop = library.project()
    texts = [text.encode(errors="replace").decode() for text in texts]
    for number, text in enumerate(texts):
        shop.put(f"{number}", "title", text)
    chosen = data.draw(st.integers(0, len(texts) - 1))
    own = set(words(texts[chosen])) - COMMON - {"title"}
    for number, text in enumerate(texts):
        own -= set() if number == chosen else {*words(text), str(number)}
    for word in sorted(own)[:3]:
        if query_words(word) == [word]:
            assert ids(shop.search(word, 5))[0] == f"{chosen}"
    shop.remove(f"{chosen}")
    for word in sorted(own)[:3]:
        assert f"{chosen}" not in ids(shop.search(word, 5))


def reopened(library: Library, folder: Path) -> SqliteKnowledge:
    """The same documents with an index that another process opens."""
    library.index.close()  # type: ignore[attr-defined]
    library.index = SqliteKnowledge(folder / "knowledge.db", library.documents)
    return library.index


def test_the_index_survives_the_process(library: Library, tmp_path: Path) -> None:
    document = library.project("demo").put("a", None, RETURNS)
    reopened(library, tmp_path)
    assert library.project("demo").state(document).state is IndexState.INDEXED
    assert ids(library.project("demo").search("photograph", 5)) == ["a"]


@pytest.mark.parametrize("used", [False, True])
def test_an_index_that_was_closed_stays_closed(library: Library, tmp_path: Path, used: bool) -> None:
    if used:
        library.project("demo").put("a", None, RETURNS)
    library.index.close()  # type: ignore[attr-defined]
    with pytest.raises(StorageError, match="closed"):
        library.project("demo").search("photograph", 5)
    assert (tmp_path / "knowledge.db").exists() == used


@pytest.mark.parametrize("damage", ["lost", "no database", "another version", "damaged in the middle"])
def test_an_index_that_is_lost_damaged_or_old_is_made_anew(
    library: Library, tmp_path: Path, damage: str
) -> None:
    shop = library.project("demo")
    for number in range(20):
        shop.put(f"{number}", None, f"Note {number}. " + RETURNS * 20)
    library.index.close()  # type: ignore[attr-defined]
    path = tmp_path / "knowledge.db"
    match damage:
        case "lost":
            path.unlink()
        case "no database":
            path.write_bytes(b"something else entirely, " * 1000)
        case "another version":
            connection = sqlite3.connect(path)
            connection.execute("PRAGMA user_version = 99")
            connection.close()
        case _:
            content = bytearray(path.read_bytes())
            content[4096:] = b"\xa5" * (len(content) - 4096)
            path.write_bytes(content)
    reopened(library, tmp_path)
    assert len(library.project("demo").search("photograph", 5)) == 5
    library.project("demo").put("new", None, "xylophone")
    assert ids(library.project("demo").search("xylophone", 5)) == ["new"]


def test_what_a_crash_left_out_of_the_index_or_in_it_is_put_right_at_the_next_start(
    library: Library, tmp_path: Path
) -> None:
    shop = library.project("demo")
    shop.put("gone", None, "xylophone")
    shop.put("changed", None, "marimba")
    shop.documents.put("new", "New", "glockenspiel")
    shop.documents.put("changed", "Changed", "vibraphone")
    shop.documents.delete("gone")
    index = reopened(library, tmp_path)
    shop = library.project("demo")
    assert ids(shop.search("glockenspiel", 5)) == ["new"]
    assert ids(shop.search("vibraphone", 5)) == ["changed"]
    assert index.search("demo", "xylophone", 5) == []
    assert index.search("demo", "marimba", 5) == []


def test_a_write_that_fails_is_made_up_for_by_the_next_search(library: Library, tmp_path: Path) -> None:
    shop = library.project("demo")
    shop.put("a", None, "marimba")
    assert shop.search("marimba", 5)
    holder = sqlite3.connect(tmp_path / "knowledge.db", timeout=0)
    holder.execute("PRAGMA busy_timeout = 0")
    library.index._opened()._writer.execute("PRAGMA busy_timeout = 0")  # type: ignore[attr-defined]
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError):
        shop.put("b", None, "xylophone")
    holder.rollback()
    holder.close()
    assert ids(shop.search("xylophone", 5)) == ["b"]


def test_many_at_once_put_remove_and_search(library: Library) -> None:
    shop = library.project("demo")
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(6):
                shop.put(f"{number % 3}", None, f"xylophone {number} {turn}")
                shop.search("xylophone", 5)
                if turn % 3 == 2:
                    shop.remove(f"{number % 3}")
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not faults
    assert set(ids(shop.search("xylophone", 20))) == {
        document.document_id for document in shop.documents.all()
    }


def test_a_project_has_room_for_so_many_documents(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parley.turns.documents.MOST_DOCUMENTS", 2)
    assert MOST_DOCUMENTS == 1000
    shop = library.project()
    shop.put("a", None, "x")
    shop.put("b", None, "x")
    with pytest.raises(Conflict, match="at most 2 documents"):
        shop.put("c", None, "x")
    shop.put("b", None, "y")
    shop.remove("a")
    shop.put("c", None, "x")


def test_no_word_of_a_removed_document_is_kept(library: Library) -> None:
    shop, other = library.project(), library.project()
    shop.put("a", None, "Glockenspiel and marimba")
    shop.put("b", None, "Marimba")
    other.put("a", None, "Glockenspielbau")
    shop.put("a", None, "Marimba")

    def kept(project: str) -> set[str]:
        sql = "SELECT term FROM terms WHERE project = ?"
        database = library.index._opened()  # type: ignore[attr-defined]
        return {
            row[0] for row in database.read(lambda connection: connection.execute(sql, (project,)).fetchall())
        }

    assert kept(shop.project_id) == {"a", "b", "marimba"}
    shop.remove("a")
    assert kept(shop.project_id) == {"b", "marimba"}
    assert ids(other.search("glockenspiel", 5)) == ["a"]
    assert shop.search("glockenspiel", 5) == []


def test_replaced_and_removed_texts_leave_no_blob_behind(library: Library) -> None:
    shop = library.project()
    shop.put("a", None, "x")
    shop.put("a", None, "y")
    assert len(library.blobs.list_keys("projects/")) == 1
    shop.remove("a")
    assert library.blobs.list_keys("projects/") == []
