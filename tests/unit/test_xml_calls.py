"""Tool calls in a model's text: what is a call, what is only talk of one, and that pieces do not matter."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.messages import ToolCall
from parley.prompts.xml_calls import CUT_OFF, CallBegun, CallPiece, Part, TextCall, TextCalls
from parley.prompts.xml_tools import call_as_text

CALL = '<tool_call name="f">{"a":1}</tool_call>'
F = TextCall("f", '{"a":1}')


def parts_of(text: str, *sizes: int) -> list[list[Part]]:
    """What each piece of the text brings, and its end; ``sizes`` are those of the pieces, the last for all others."""
    reader = TextCalls()
    found: list[list[Part]] = []
    pieces = list(sizes) or [1]
    while text:
        size = pieces.pop(0) if len(pieces) > 1 else pieces[0]
        found.append(reader.feed(text[:size]))
        text = text[size:]
    return [*found, reader.finish()]


def read(text: str, *sizes: int) -> list[str | TextCall]:
    """What is found in the end, neighbouring texts joined; and that each call was begun before."""
    joined: list[str | TextCall] = []
    begun: str | None = None
    for part in (part for some in parts_of(text, *sizes) for part in some):
        match part:
            case CallBegun(name):
                assert begun is None
                begun = name
            case CallPiece(piece):
                assert begun is not None
                assert piece
            case TextCall():
                assert part.name == begun
                begun = None
                joined.append(part)
            case str() if joined and isinstance(joined[-1], str):
                joined[-1] += part
            case str():
                assert begun is None
                joined.append(part)
    assert begun is None
    return joined


def arguments_of(text: str) -> Any:
    (call,) = read(text)
    assert isinstance(call, TextCall)
    return json.loads(call.arguments)


def test_text_before_between_and_after_calls_is_kept() -> None:
    assert read(f"One {CALL} two {CALL} three") == ["One ", F, " two ", F, " three"]


@pytest.mark.parametrize(
    "text",
    [
        f"For example:\n```xml\n{CALL}\n```\nDone.",
        f"```\n{CALL}\n",
        f"~~~\n{CALL}\n```\n{CALL}\n~~~",
        f"````md\n```\n{CALL}\n```\n{CALL}\n````",
        f"1. Like so:\n   ```xml\n   {CALL}\n   ```\n",
        f"- ```\n  {CALL}\n  ```",
        f"> ```\n> {CALL}\n> ```",
        f"Write `{CALL}` for it.",
        f"Write ``{CALL} with ` in it`` for it.",
        f"```{CALL}```",
        f"<think>I could write {CALL}</think>No.",
        "The <tool_call> tag, closed by </tool_call>, is XML.",
        "a < b, <tool x, <tool_calls>, <tool_call_name>",
        "<tool_call",
        "<tool_call name=f and more > text",
        '<tool_response name="f" ok="true">is how you are answered</tool_response>',
    ],
)
def test_talk_of_a_call_is_text(text: str) -> None:
    assert read(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        f"```\ncode\n```\n{CALL}",
        f"It`s `x`:\n{CALL}",
        f"`a` {CALL}",
        f"<think>{CALL}</think>\n{CALL}",
        f"````\n```\n````\n{CALL}",
    ],
)
def test_a_call_behind_code_is_a_call(text: str) -> None:
    assert read(text)[-1] == F
    assert sum(isinstance(part, TextCall) for part in read(text)) == 1


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ('<tool_call name="f">', "f"),
        ("<tool_call name='f'>", "f"),
        ('<tool_call id="7" name="f" x="a > b">', "f"),
        ('<tool_call name="f" id="7">', "f"),
        ("<tool_call name=f>", "f"),
        ('<tool_call\n  name = "f"\n>', "f"),
        ('<tool_call name="a &amp; &quot;b&quot; &lt;c>">', 'a & "b" <c>'),
    ],
)
def test_attributes_come_in_any_order_and_form(tag: str, name: str) -> None:
    assert read(tag + '{"a":1}</tool_call>') == [TextCall(name, '{"a":1}')]


@pytest.mark.parametrize(
    "value",
    [
        "</tool_call>",
        "</parameter>",
        "]]>",
        "<b>&lt;</b>",
        '<tool_call name="g">{}</tool_call>',
        "```\n",
        "AT&T",
        "a\\b\"c'",
        "line\nbreak\ttab",
    ],
)
@pytest.mark.parametrize("form", ["{}", "<![CDATA[{}]]>", "\n```json\n{}\n```\n", " {}\n"])
def test_a_value_is_whole(value: str, form: str) -> None:
    body = json.dumps({"v": value})
    if form.startswith("<!") and "]]>" in value:
        body = body.replace("]]>", "]]]]><![CDATA[>")
    assert arguments_of(f'<tool_call name="f">{form.replace("{}", body)}</tool_call>') == {"v": value}


def test_cdata_that_forgot_to_part_its_own_end_is_read_too() -> None:
    assert arguments_of('<tool_call name="f"><![CDATA[{"v":"]]>"}]]></tool_call>') == {"v": "]]>"}


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ('{"v": "a &lt; b &amp;&amp; c"}', "a < b && c"),
        ("{&quot;v&quot;: &quot;a &lt; b&quot;}", "a < b"),
        ('{"v": "say &quot;hi&quot; &#8364;&#x20ac;"}', 'say "hi" €€'),
        ('{"v": "<p>a &lt; b</p>"}', "<p>a &lt; b</p>"),
        ('{"v": "a & b &lt; c"}', "a & b &lt; c"),
        ('<![CDATA[{"v": "&lt;"}]]>', "&lt;"),
        ('{"v": ["&amp;", {"&lt;": 1}]}', ["&", {"<": 1}]),
        ('{"v": "&copy;"}', "&copy;"),
    ],
)
def test_entities_are_read_where_the_body_is_written_as_xml(body: str, value: Any) -> None:
    assert arguments_of(f'<tool_call name="f">{body}</tool_call>') == {"v": value}


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call name="f"></tool_call>',
        '<tool_call name="f"/>',
        '<tool_call name="f" />',
        '<tool_call name="f">\n</tool_call >',
    ],
)
def test_no_arguments_are_an_empty_object(text: str) -> None:
    assert read(text) == [TextCall("f", "{}")]


@pytest.mark.parametrize(
    "body",
    [
        '{"name": "f", "arguments": {"a":1}}',
        '{ "name":"f" ,"parameters" :{"a":1} }',
        '\n```json\n{"name": "f", "arguments": {"a":1}}\n```\n',
        '{"arguments": {"a":1}, "name": "f"}',
        '\n{"name": "f", "arguments": "{\\"a\\":1}"}\n',
    ],
)
def test_a_name_inside_the_object_is_understood(body: str) -> None:
    assert read(f"<tool_call>{body}</tool_call>") == [F]


def test_a_name_said_twice_is_no_argument() -> None:
    body = '{"name": "f", "arguments": {"a": 1}}'
    assert read(f'<tool_call name="f">{body}</tool_call>') == [F]
    assert arguments_of(f'<tool_call name="g">{body}</tool_call>') == json.loads(body)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call name="f">',
        '<tool_call name="f">{"a":',
        '<tool_call name="f">{"a":1}',
        '<tool_call name="f">{"a":1}</tool_cal',
        '<tool_call name="f"',
        '<tool_call name="f',
        '<tool_call>{"name": "f", "argum',
    ],
)
def test_a_call_that_is_cut_off_is_one_that_says_so(text: str) -> None:
    assert read("Hi " + text) == ["Hi ", TextCall("f", "", CUT_OFF)]


@pytest.mark.parametrize("body", ["{bad}", "[1]", '{"a": 1', "Paris", '{"a": 1}}', "{'a': 1}"])
def test_arguments_that_are_none_are_passed_on_and_the_rest_is_read(body: str) -> None:
    assert read(f'<tool_call name="f">{body}</tool_call> then {CALL}.') == [
        TextCall("f", body),
        " then ",
        F,
        ".",
    ]


def test_a_call_inside_a_broken_call_does_not_run() -> None:
    calls = [part for part in read(f'<tool_call name="g">{{"x": {CALL}}}</tool_call>') if part == F]
    assert calls == []


def test_results_that_the_model_makes_up_end_the_reply() -> None:
    reader = TextCalls()
    assert reader.feed(f'{CALL}\n<tool_response name="f" ok="true">5</tool_response> So {CALL}') == [
        *begun("f", '{"a":1}'),
        "\n",
    ]
    assert reader.ended
    assert reader.feed("more") == []
    assert reader.finish() == []


def test_text_is_given_out_as_soon_as_it_cannot_be_a_call() -> None:
    reader = TextCalls()
    assert reader.feed("Hello <to") == ["Hello "]
    assert reader.feed("ol> and <") == ["<tool> and "]
    assert reader.feed("tool_call name=") == []
    assert reader.feed('"f">{}</tool_call> bye') == [*begun("f", "{}"), " bye"]


def begun(name: str, arguments: str) -> list[Part]:
    return [CallBegun(name), CallPiece(arguments), TextCall(name, arguments)]


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
