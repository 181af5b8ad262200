from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from parley.domain.json_text import DEEPEST, read_json, read_request

WRAPPED: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
"""How values are stored and read back."""


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{} x",
        "NaN",
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": -1e999}',
        '"\\ud800"',
        '{"\\udc00": 1}',
        '"\ud83d"',
        nested(DEEPEST + 1),
        nested(5000),
        "[" * 100_000,
        "9" * 10_000,
    ],
)
def test_what_is_not_json_or_cannot_be_kept_is_refused(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        read_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "null",
        '"\\ud83d\\ude00"',
        '"😀 \\u0000"',
        nested(DEEPEST),
        "1e308",
        "9" * 400,
        "[" + "[]," * 500 + "[]]",
    ],
)
def test_what_can_be_kept_is_read_as_json(text: str) -> None:
    value = read_json(text)
    assert value == json.loads(text)
    stored = WRAPPED.dump_json({"value": value})
    assert WRAPPED.validate_json(stored) == {"value": value}


def test_an_object_of_a_request_has_each_name_once() -> None:
    for text in ('{"a": 1, "a": 1}', '[{"b": {"a": 1, "\\u0061": 2}}]'):
        assert read_json(text) == json.loads(text)
        with pytest.raises(json.JSONDecodeError, match='"a" is in it twice'):
            read_request(text)
    assert read_request('{"a": {"a": 1}, "A": [{"a": 1}, {"a": 2}]}') == {
        "a": {"a": 1},
        "A": [{"a": 1}, {"a": 2}],
    }
    with pytest.raises(json.JSONDecodeError, match=r'"x{60}…" is in it twice'):
        read_request(f'{{"{"x" * 90}": 1, "{"x" * 90}": 1}}')


@given(st.text() | st.text(st.characters(categories=["Cs", "Lu"]) | st.sampled_from('{}[]",:\\u1e')))
def test_any_text_is_read_or_refused_and_what_is_read_can_be_stored(text: str) -> None:
    try:
        value = read_json(text)
    except json.JSONDecodeError:
        return
    stored = WRAPPED.dump_json({"value": value})
    assert WRAPPED.validate_json(stored) == {"value": value}
