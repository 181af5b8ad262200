"""Bytes to lines to events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.providers.wire.sse import LineDecoder, ServerSentEvent, decode_events, decode_lines


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(min_value=1, max_value=9), min_size=1),
)
def test_lines_are_the_same_however_their_bytes_are_cut(lines: list[str], end: str, sizes: list[int]) -> None:
    data = "".join(line + end for line in lines).encode()
    chunks: list[bytes] = []
    start = 0
    while start < len(data):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(data[start : start + size])
        start += size
    whole = list(decode_lines([data]))
    assert list(decode_lines(chunks)) == whole
    assert whole == [line.removeprefix("\ufeff") if place == 0 else line for place, line in enumerate(lines)]


def test_a_line_is_given_out_as_soon_as_it_is_complete() -> None:
    decoder = LineDecoder()
    assert decoder.feed(b"data: a") == []
    assert decoder.feed(b"b\r") == ["data: ab"]
    assert decoder.feed(b"\nnext") == []
    assert decoder.feed(b"", final=True) == ["next"]


def test_no_other_character_ends_a_line() -> None:
    assert list(decode_lines(["data: a\u2028b\x0bc\x85d\n".encode()])) == ["data: a\u2028b\x0bc\x85d"]


def test_bytes_that_are_not_utf8_do_not_lose_the_line() -> None:
    assert list(decode_lines([b"a\xffb\n"])) == ["a\ufffdb"]


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        (["data: a", ""], [ServerSentEvent("a")]),
        (["data:a", "data: b", ""], [ServerSentEvent("a\nb")]),
        (
            ["event: error", "data: a", "", "data: b", ""],
            [ServerSentEvent("a", "error"), ServerSentEvent("b")],
        ),
        ([": comment", "", "id: 1", "", "event: ping", ""], []),
        (["data:  two spaces", ""], [ServerSentEvent(" two spaces")]),
        (["data", ""], [ServerSentEvent("")]),
        (["data: last, with no blank line"], [ServerSentEvent("last, with no blank line")]),
    ],
)
def test_events_follow_the_standard(lines: list[str], events: list[ServerSentEvent]) -> None:
    assert list(decode_events(lines)) == events
