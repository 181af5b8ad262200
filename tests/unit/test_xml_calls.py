"""Tool calls in a model's text: what is a call, and what is only talk of one."""

import json
from typing import Any

import pytest

from parley.prompts.xml_calls import CUT_OFF, TextCall, TextCalls
from tests.unit.xml_reading import begun, read

CALL = '<tool_call name="f">{"a":1}</tool_call>'
F = TextCall("f", '{"a":1}')


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
