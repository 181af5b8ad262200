"""The words of a text, and the passages that it falls into."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parley.domain.documents import LONGEST_TITLE, title_of
from parley.domain.passages import LONGEST_HEADING, LONGEST_PASSAGE, MOST_SECTIONS, OVERLAP, passages
from parley.domain.words import COMMON, LONGEST_WORD, parts_of, query_words, stem, words

TEXTS = st.text(max_size=400)
LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["", "# One", "## Two ##", "### Three", "```", "~~~", "#no heading", "\f", "a\u2028b"]
        ),
        st.text("ab .!\n\t。", max_size=300),
        st.integers(1, 400).map("word ".__mul__),
        st.integers(1, 4000).map("x".__mul__),
    ),
    max_size=12,
).map("\n".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Custom_label_0 of A-1001!", ["custom", "label", "0", "customlabel0", "of", "a", "1001", "a1001"]),
        ("Wi\u2011Fi, -a- b--c", ["wi", "fi", "wifi", "a", "b", "c"]),
        ("Rück\u00adgabe", ["ruckgabe"]),
        ("Größe, Łódź, Ærø, İstanbul", ["grosse", "lodz", "aero", "istanbul"]),
        ("e\u0301tude étude", ["etude", "etude"]),
        ("ﬁne Ⅷ ２", ["fine", "viii", "2"]),
        ("東京都", ["東京", "京都", "都"]),
        ("iPhone用ケース", ["iphone", "用ケ", "ケー", "ース", "ス"]),
        ("한국", ["한국", "국"]),
        ("किताब पढ़ो", ["किताब", "पढ़ो"]),
        ("مُحَمَّد", ["محمد"]),
        ("Ёлка", ["елка"]),
        ("x" * 100, ["x" * LONGEST_WORD]),
        ("\ud800 * ( \" ' OR", ["or"]),
        ("", []),
    ],
)
def test_words_are_folded_and_hold_letters_and_digits_only(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(TEXTS)
def test_no_word_of_any_text_holds_what_a_query_language_could_read(text: str) -> None:
    for word in words(text):
        assert not any(character.isascii() and not character.isalnum() for character in word)
        assert 0 < len(word) <= LONGEST_WORD


@given(TEXTS, TEXTS)
def test_a_text_has_the_words_of_its_parts(text: str, other: str) -> None:
    assert words(f"{text} \n {other}") == words(text) + words(other)


@given(st.text("abcßéłÖÆ東ก한 ", max_size=60))
def test_case_makes_no_difference(text: str) -> None:
    assert words(text.upper()) == words(text.lower())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("policies", "policy"),
        ("returns", "return"),
        ("refunded", "refund"),
        ("labels", "label"),
        ("items", "item"),
        ("shipped", "ship"),
        ("shipping", "ships"),
        ("opening", "open"),
        ("closing", "close"),
        ("worker", "works"),
        ("pricing", "prices"),
        ("kunden", "kunde"),
        ("ceny", "cena"),
        ("цены", "цена"),
    ],
)
def test_forms_of_a_word_have_one_stem(one: str, other: str) -> None:
    assert stem(one) == stem(other)


def test_what_a_word_may_be_made_of_is_at_least_four_letters_long() -> None:
    assert parts_of("lampen") == ["lampe", "ampen", "lamp", "mpen"]
    assert parts_of("lamp") == []


def test_numbers_and_short_words_are_their_own_stems() -> None:
    assert [stem(word) for word in ("20261130", "a1001s", "gas")] == ["20261130", "a1001s", "gas"]


def test_a_query_is_about_its_uncommon_words_if_it_has_any() -> None:
    assert query_words("What is our policy for returns? Policy!") == ["policy", "returns"]
    assert query_words("What is this?") == ["what", "is", "this"]
    assert query_words("Wie ist die Richtlinie für Rückgaben?") == ["richtlinie", "ruckgaben"]


def test_the_common_words_are_written_as_words_writes_them() -> None:
    assert {word for text in COMMON for word in words(text)} == COMMON


@given(st.one_of(TEXTS, LINES))
@example("a" * (LONGEST_PASSAGE + 1))
@example("# Only a heading")
def test_passages_are_parts_of_the_text_and_leave_nothing_out(text: str) -> None:
    covered = 0
    for passage in passages(text):
        end = passage.start + len(passage.text)
        assert text[passage.start : end] == passage.text
        assert 0 < len(passage.text) <= LONGEST_PASSAGE
        assert not text[covered : passage.start].strip()
        assert passage.start >= covered - OVERLAP
        covered = end
    assert not text[covered:].strip()


def test_a_passage_keeps_to_its_heading_and_says_which() -> None:
    text = "Before.\n# A\n## B\nOne.\n## C #\nTwo.\n# D\nThree.\n"
    assert [(each.heading, each.text) for each in passages(text)] == [
        ("", "Before."),
        ("A › B", "# A\n## B\nOne."),
        ("A › C", "## C #\nTwo."),
        ("D", "# D\nThree."),
    ]


def test_a_heading_within_code_is_code() -> None:
    assert [each.heading for each in passages("# A\n```\n# no\n~~~\n# no\n```\n# B\nx")] == ["A", "B"]


@pytest.mark.parametrize(
    "line", ["# a" + " " * 200_000 + "b", "# a" + " #" * 200_000 + "b", "# " + "#" * 400_000]
)
def test_a_line_of_any_kind_is_read_at_once(line: str) -> None:
    begun = time.process_time()
    title_of("x.md", line)
    passages(line)
    assert time.process_time() - begun < 2


def test_headings_that_are_long_do_not_swell_the_index() -> None:
    text = "".join(f"{'#' * level} {'long ' * 1000}\n" for level in range(1, 6))
    found = passages(text + "###### short\nword\n" * 500)
    assert len(found) >= 500
    assert max(len(each.heading) for each in found) <= LONGEST_HEADING
    assert all(each.heading.endswith("short") for each in found)


def test_of_very_many_sections_neighbours_go_together_below_what_they_have_in_common() -> None:
    text = "# Codes\n" + "".join(f"## Code {number}\nx\n" for number in range(5 * MOST_SECTIONS))
    found = passages(text)
    assert MOST_SECTIONS / 2 < len(found) <= MOST_SECTIONS
    assert {each.heading for each in found} == {"Codes"}
    assert "\n".join(each.text for each in found) == text.strip()


def test_a_long_section_is_cut_between_paragraphs_and_overlaps_a_little() -> None:
    paragraph = "This sentence stands in every paragraph of the text. " * 8
    found = passages("\n\n".join([paragraph] * 8))
    assert len(found) > 3
    for one, other in pairwise(found):
        assert one.text.endswith("of the text.")
        assert one.start < other.start < one.start + len(one.text)


@pytest.mark.parametrize(
    ("document_id", "content", "title"),
    [
        ("a/returns.md", "\n# How we  take back #\nx", "How we take back"),
        ("a/returns.policy.md", "no heading", "returns.policy"),
        ("README", "#hashtag", "README"),
        ("a/.hidden", "x", "a/.hidden"),
        ("x", "# " + "t" * 300, "t" * LONGEST_TITLE),
        ("a/sharp.md", "# Learning C#", "Learning C#"),
        ("a/install.md", "```\n# a comment\n```\n# Install", "Install"),
        ("a/empty.md", "# ###\n#\nx", "empty"),
    ],
)
def test_a_document_is_called_by_its_first_heading_or_its_id(
    document_id: str, content: str, title: str
) -> None:
    assert title_of(document_id, content) == title
