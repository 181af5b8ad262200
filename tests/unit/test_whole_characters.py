"""No half of a surrogate pair leaves a provider."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from parley.providers.whole_characters import whole_characters
from parley.turns.model_ports import Delta, Finish, TextDelta, ToolArgumentsDelta, ToolCallStart


def passed(*deltas: Delta) -> list[Delta]:
    def stream() -> Iterator[Delta]:
        yield from deltas

    return list(whole_characters(stream()))


def test_halves_that_come_apart_are_one_character() -> None:
    assert passed(TextDelta("hi \ud83d"), TextDelta("\ude00 ok"), Finish("stop")) == [
        TextDelta("hi "),
        TextDelta("😀 ok"),
        Finish("stop"),
    ]


def test_half_a_character_is_replaced() -> None:
    assert passed(TextDelta("a\ude00b"), TextDelta("c\ud83d"), TextDelta("d\ud83d"), Finish("stop")) == [
        TextDelta("a\ufffdb"),
        TextDelta("c"),
        TextDelta("\ufffdd"),
        TextDelta("\ufffd"),
        Finish("stop"),
    ]


def test_each_calls_arguments_are_joined_by_themselves() -> None:
    start = [ToolCallStart(0, "f"), ToolCallStart(1, "g")]
    halves = [ToolArgumentsDelta(0, "x\ud83d"), ToolArgumentsDelta(1, "y"), ToolArgumentsDelta(0, "\ude00")]
    joined = [ToolArgumentsDelta(0, "x"), ToolArgumentsDelta(1, "y"), ToolArgumentsDelta(0, "😀")]
    assert passed(*start, *halves, Finish("tool_calls")) == [*start, *joined, Finish("tool_calls")]


def test_names_ids_and_what_the_provider_wants_back_are_whole() -> None:
    start = ToolCallStart(0, "f\ud83d", "id\ud83d", {"signature": ["\ud83d"]})
    assert passed(start, Finish("stop", provider_data={"reasoning": "\ude00"})) == [
        ToolCallStart(0, "f\ufffd", "id\ufffd", {"signature": ["\ufffd"]}),
        Finish("stop", provider_data={"reasoning": "\ufffd"}),
    ]


@given(st.lists(st.text(st.characters(categories=("Cs", "L")))))
def test_what_comes_out_is_text_in_utf_8(pieces: list[str]) -> None:
    said = "".join(
        d.text for d in passed(*map(TextDelta, pieces), Finish("stop")) if isinstance(d, TextDelta)
    )
    assert said == "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert said.encode().decode() == said
