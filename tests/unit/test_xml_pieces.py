"""Calls in text while they are written: in any pieces, nothing held back for longer than need be."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.messages import ToolCall
from parley.prompts.xml_calls import CallBegun, CallPiece, TextCall, TextCalls
from parley.prompts.xml_tools import call_as_text
from tests.unit.xml_reading import begun, parts_of, read


def test_text_is_given_out_as_soon_as_it_cannot_be_a_call() -> None:
    reader = TextCalls()
    assert reader.feed("Hello <to") == ["Hello "]
    assert reader.feed("ol> and <") == ["<tool> and "]
    assert reader.feed("tool_call name=") == []
    assert reader.feed('"f">{}</tool_call> bye') == [*begun("f", "{}"), " bye"]


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ('<tool_call name="f">', "</tool_call>"),
        ('<tool_call name="f"><![CDATA[', "]]></tool_call>"),
        ('<tool_call name="f">\n```json\n', "\n```\n</tool_call>"),
        ('<tool_call>\n{"name": "f", "arguments": ', "}\n</tool_call>"),
    ],
)
def test_a_call_is_told_while_it_is_written(before: str, behind: str) -> None:
    pieces = ["Look: " + before + '{"a": "o', "ne <b>", "two}", '</tool", "c": {"d": []', "}}" + behind]
    reader = TextCalls()
    assert [reader.feed(piece) for piece in pieces[:-1]] == [
        ["Look: ", CallBegun("f"), CallPiece('{"a": "o')],
        [CallPiece("ne <b")],
        [CallPiece(">two")],
        [CallPiece('}</tool", "c": {"d": [')],
    ]
    arguments = '{"a": "one <b>two}</tool", "c": {"d": []}}'
    assert reader.feed(pieces[-1]) == [CallPiece("]}}"), TextCall("f", arguments)]
    assert reader.finish() == []


def test_what_may_be_text_behind_a_broken_call_is_no_argument() -> None:
    reader = TextCalls()
    assert reader.feed('<tool_call name="f">{"a": "b</tool_call> I ') == [
        CallBegun("f"),
        CallPiece('{"a": "b'),
    ]
    assert reader.feed("wrote.") == []
    assert reader.finish() == [TextCall("f", '{"a": "b'), " I wrote."]


def test_arguments_nested_without_end_are_a_call_that_is_wrong() -> None:
    deep = '{"a":' * 5_000 + "1" + "}" * 5_000
    (call,) = read(f'<tool_call name="f">{deep}</tool_call>', 1000)
    assert isinstance(call, TextCall)
    assert call.name == "f"


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(["</tool_call>", "]]>", "&lt;", "&amp;amp;", "```\n", "<tool_response", "\\u003c"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_calls = st.builds(
    lambda name, arguments: ToolCall(tool_call_id="c", name=name, arguments=arguments),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20),
    st.dictionaries(st.text(max_size=8), _values, max_size=4),
)
_plain = st.text(st.characters(exclude_characters="<`~", exclude_categories=["Cs"]), max_size=20)
_sizes = st.lists(st.integers(1, 12), min_size=1, max_size=20)


@given(st.lists(st.tuples(_plain, _calls), max_size=4), _plain, _sizes)
def test_what_is_written_is_read_back_in_any_pieces(
    parts: list[tuple[str, ToolCall]], tail: str, sizes: list[int]
) -> None:
    text = "".join(before + call_as_text(call) for before, call in parts) + tail
    found = read(text, *sizes)
    calls = [part for part in found if isinstance(part, TextCall)]
    assert [call.name for call in calls] == [call.name for _, call in parts]
    assert [json.loads(call.arguments) for call in calls] == [call.arguments for _, call in parts]
    assert all(call.error is None for call in calls)
    told = [part for some in parts_of(text, *sizes) for part in some if not isinstance(part, str)]
    pieces = "".join(part.text for part in told if isinstance(part, CallPiece))
    assert pieces == "".join(call.arguments for call in calls)
    assert "".join(part for part in found if isinstance(part, str)) == "".join(t for t, _ in parts) + tail


_noise = st.lists(
    st.sampled_from(
        [
            "<tool_call",
            ' name="f"',
            ">",
            "/>",
            '{"a":"',
            '"}',
            "{}",
            "</tool_call>",
            "<tool_response",
            "<![CDATA[",
            "]]>",
            "```",
            "`",
            "~~~",
            "\n",
            " ",
            "&lt;",
            "<think>",
            "</think>",
            "x",
            "'",
            '"',
            "{",
        ]
    ),
    max_size=30,
)


@given(_noise, _sizes)
def test_any_text_is_read_the_same_in_any_pieces(noise: list[str], sizes: list[int]) -> None:
    text = "".join(noise)
    assert read(text, *sizes) == read(text, len(text) or 1)


@given(_noise)
def test_nothing_of_a_text_without_calls_is_lost(noise: list[str]) -> None:
    text = "".join(noise)
    found = read(text)
    if not any(isinstance(part, TextCall) for part in found):
        assert "".join(map(str, found)) == text
