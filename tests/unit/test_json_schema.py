"""Arguments against a JSON schema: the same words as those of function classes, whatever the schema."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.tools.json_schema import arguments_fault, schema_fault

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "order": {"enum": ["up", "down"]},
        "sort": {"const": "revenue"},
        "depth": {"enum": [True, None, 2.5, "all"]},
        "title": {"type": "string", "minLength": 1, "maxLength": 5},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": True},
        "flag": {"type": ["boolean", "null"]},
        "id": {"type": ["integer", "string"]},
        "code": {"type": "string", "pattern": "^[A-Z]+$", "description": "capital letters"},
        "place": {"$ref": "#/$defs/place"},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "one": {"oneOf": [{"minimum": 1}, {"minimum": 2}]},
        "pairs": {"type": "object", "minProperties": 1, "propertyNames": {"maxLength": 3}},
    },
    "patternProperties": {"^x-": {"type": "string"}},
    "required": ["limit"],
    "additionalProperties": False,
    "dependentRequired": {"order": ["sort"]},
    "$defs": {
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "at": {"type": "array", "items": {"type": "number"}}},
            "required": ["city"],
        }
    },
}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "limit is missing"),
        ({"limit": 0}, "limit must be between 1 and 100"),
        ({"limit": 101}, "limit must be between 1 and 100"),
        ({"limit": "7"}, "limit must be a whole number"),
        ({"limit": 1.5}, "limit must be a whole number"),
        ({"limit": True}, "limit must be a whole number"),
        ({"limit": None}, "limit must be a whole number"),
        ({"limit": 1, "share": 0}, "share must be more than 0"),
        ({"limit": 1, "share": 1}, "share must be less than 1"),
        ({"limit": 1, "order": "sideways", "sort": "revenue"}, "order must be one of up or down"),
        ({"limit": 1, "sort": "units"}, "sort must be revenue"),
        ({"limit": 1, "depth": 3}, "depth must be one of true, null, 2.5 or all"),
        ({"limit": 1, "title": ""}, "title must have at least 1 character"),
        ({"limit": 1, "title": "abcdef"}, "title must have at most 5 characters"),
        ({"limit": 1, "tags": ["a", "b", "c"]}, "tags must have at most 2 entries"),
        ({"limit": 1, "tags": ["a", 1]}, "tags.1 must be text"),
        ({"limit": 1, "tags": ["a", "a"]}, "tags must not hold the same entry twice"),
        ({"limit": 1, "tags": "a"}, "tags must be a list"),
        ({"limit": 1, "flag": "perhaps"}, "flag must be true or false"),
        ({"limit": 1, "id": []}, "id must be one of integer, string"),
        ({"limit": 1, "code": "ab"}, "code does not have the right form (capital letters)"),
        ({"limit": 1, "place": {}}, "place.city is missing"),
        ({"limit": 1, "place": {"city": "Bern", "at": [1, "2"]}}, "place.at.1 must be a number"),
        ({"limit": 1, "place": 5}, "place must be an object"),
        ({"limit": 1, "either": []}, "either must have one of the accepted forms"),
        ({"limit": 1, "one": 3}, "one must have exactly one of the accepted forms"),
        ({"limit": 1, "pairs": {}}, "pairs must have more entries"),
        ({"limit": 1, "colour": "red"}, "colour is not an argument of this function"),
        ({"limit": 1, "x-any": 1}, "x-any must be text"),
        ({"limit": 1, "order": "up"}, "the arguments needs another argument beside it"),
        ({"limit": 0, "title": 5}, "limit must be between 1 and 100; title must be text"),
    ],
)
def test_bad_arguments_are_told_by_their_field(arguments: dict[str, Any], words: str) -> None:
    assert arguments_fault(SCHEMA, arguments) == f"Validation failed: {words}"


def test_arguments_that_fit_are_fine() -> None:
    fine = {"limit": 1, "place": {"city": "Bern", "at": [46.9, 7.4]}, "flag": None, "x-note": "a", "id": "7"}
    assert arguments_fault(SCHEMA, fine) is None
    assert schema_fault(SCHEMA) is None


def test_what_was_given_is_not_repeated_for_it_may_be_a_secret() -> None:
    given = {"limit": "hunter2", "title": ["hunter2"], "either": {"a": "hunter2"}, "order": "hunter2"}
    assert "hunter2" not in str(arguments_fault(SCHEMA, given))


def test_only_what_is_missing_is_told_to_be() -> None:
    schema = {"type": "object", "required": ["here", "one", "two"]}
    words = "Validation failed: one is missing; two is missing"
    assert arguments_fault(schema, {"here": 1}) == words


def test_of_many_faults_five_are_told() -> None:
    schema = {"type": "object", "required": [f"a{n}" for n in range(9)]}
    assert str(arguments_fault(schema, {})).endswith("a4 is missing; and 4 more")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "array"}, "its type must be object, for arguments have names"),
        (
            {"type": "object", "properties": {"a": {"type": "text"}}},
            "properties.a.type: must be string, number,",
        ),
        ({"type": "object", "properties": []}, "properties: [] is not of type 'object'"),
        ({"type": "object", "required": "a"}, "required: 'a' is not of type 'array'"),
        ({"properties": {"a": {"$ref": "#/$defs/none"}}}, "$ref /$defs/none leads nowhere"),
        ({"properties": {"default": {"$ref": "#/$defs/none"}}}, "$ref /$defs/none leads nowhere"),
        (
            {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}},
            "$ref http://127.0.0.1:9/schema leads nowhere",
        ),
        (
            {"properties": {"a": {"type": "string", "pattern": "("}}},
            "properties.a.pattern: unclosed group",
        ),
        (
            {"properties": {"a": {"anyOf": [{"pattern": "^(?!x)"}]}}},
            "properties.a.anyOf.0.pattern: look-around",
        ),
        ({"patternProperties": {r"(a)\1": {}}}, r"patternProperties.(a)\1: backreferences are not supported"),
        ({"properties": {"a": {"pattern": "(x{0,1000}){40}"}}}, "properties.a.pattern: it repeats too much"),
    ],
)
def test_a_schema_that_is_none_is_told_by_the_place_of_its_fault(schema: dict[str, Any], words: str) -> None:
    assert str(schema_fault(schema)).startswith(words)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "text"}}},
        {"properties": None},
        {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}},
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/a"}}, "properties": {"a": {"$ref": "#/$defs/a"}}},
    ],
)
def test_a_broken_schema_that_was_kept_before_it_was_checked_breaks_no_turn(schema: dict[str, Any]) -> None:
    assert arguments_fault(schema, {"a": "b"}) == (
        "Validation failed: the function's parameters are not a usable JSON schema"
    )


ANSWERED_ELSEWHERE: dict[str, Any] = {
    "properties": {"a": {"pattern": "^(?!x)"}},
    "patternProperties": {"^(?!a)": {"type": "integer"}},
    "additionalProperties": False,
}


def test_a_pattern_that_is_not_checked_here_is_left_to_who_answers() -> None:
    assert schema_fault(ANSWERED_ELSEWHERE, ours=False) is None
    assert arguments_fault(ANSWERED_ELSEWHERE, {"a": "x", "b": "c"}) is None


SLOW = "^(a+)+$"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
DOUBLED = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"properties": {"a": {"pattern": SLOW}}}, "a"),
        ({"$schema": DRAFT, "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"pattern": SLOW}}}, "a"),
        ({"properties": {"a": {"$schema": DRAFT, "pattern": SLOW}}}, "a"),
        ({"propertyNames": {"pattern": SLOW}}, "the arguments"),
        ({"patternProperties": {SLOW: {"type": "string"}}, "additionalProperties": False}, "a" * 60 + "!"),
        ({"patternProperties": {SLOW: {}, "^a$": {}}, "additionalProperties": {"type": "string"}}, "a" * 60 + "!"),
        ({"patternProperties": {SLOW: {}}, "unevaluatedProperties": False}, None),
        ({"properties": {"a": {"pattern": "(x{0,1000}){9}"}}}, "the arguments are too large"),
        ({"$ref": "#/$defs/d0", "$defs": {**DOUBLED, "d40": {"maxProperties": 9}}}, "the arguments are too large"),
        ({"properties": {"b": {"uniqueItems": True}}}, "the arguments are too large"),
    ],
)  # fmt: skip
def test_no_schema_keeps_a_worker_busy(schema: dict[str, Any], names: str | None) -> None:
    assert schema_fault(schema) is None
    given = {"a": "a" * 60 + "!", "a" * 60 + "!": 1, "b": [{} for _ in range(20_000)]}
    if "too large" in str(names):
        given["a"] = "x" * 100_000
    begun = time.process_time()
    fault = arguments_fault(schema, given)
    assert time.process_time() - begun < 10
    assert fault is None if names is None else str(fault).startswith(f"Validation failed: {names}")


def test_an_older_dialect_is_read_as_what_it_says_it_is() -> None:
    older = {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"n": {"type": "integer"}}}
    schema = {**older, "properties": {"a": {"$ref": "#/definitions/n"}}}
    assert schema_fault(schema) is None
    assert arguments_fault(schema, {"a": "b"}) == "Validation failed: a must be a whole number"


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_words = st.sampled_from(
    ["type", "properties", "items", "$ref", "required", "enum", "minimum", "anyOf", "$defs", "pattern"]
)


@settings(max_examples=60)
@given(
    schema=st.dictionaries(_words, _json, max_size=4),
    arguments=st.dictionaries(st.text(max_size=4), _json, max_size=3),
)
def test_no_schema_and_no_arguments_ever_crash(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    fault = arguments_fault(schema, arguments)
    assert fault is None or fault.startswith("Validation failed: ")
    assert isinstance(schema_fault(schema), str | None)
