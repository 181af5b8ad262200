"""Paths, templates and intrinsic functions of the state machine's language, as functions of data."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.embedded.asl import data, paths
from parley.embedded.asl.errors import StateError, matches
from parley.embedded.asl.intrinsics import compile_intrinsic
from parley.embedded.asl.policies import compile_retriers
from parley.embedded.asl.templates import compile_template

_KEYS = st.text(max_size=3).filter(lambda key: not key.endswith(".$"))
_SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
)
_OBJECTS = st.dictionaries(st.text(max_size=3), _JSON, max_size=4)


def _nothing() -> dict[str, Any]:
    return {}


def _find(path: str, value: Any, context: Any = None) -> Any:
    return paths.compile_path(path, "field")(value, lambda: context)


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        ("$", 5, 5),
        ("$.a", {"a": None}, None),
        ("$.a-b.c_d", {"a-b": {"c_d": 1}}, 1),
        ("$.größe", {"größe": 1}, 1),
        ("$.a[1].b", {"a": [0, {"b": 2}]}, 2),
        ("$['a']", {"a": 1}, 1),
        ('$["a b"]', {"a b": 1}, 1),
        (r"$['it\'s']", {"it's": 1}, 1),
        ("$[0][1]", [[1, 2]], 2),
        ("$.a1.b2", {"a1": {"b2": 3}}, 3),
    ],
)
def test_a_path_finds_its_value(path: str, value: Any, found: Any) -> None:
    assert _find(path, value) == found


def test_two_dollars_look_in_the_context() -> None:
    assert _find("$$.a.b", {}, {"a": {"b": 1}}) == 1
    assert _find("$$", {}, {"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.a", {}),
        ("$.a", []),
        ("$.a.b", {"a": None}),
        ("$[0]", []),
        ("$[0]", {"0": 1}),
        ("$.a.length", {"a": [1]}),
    ],
)
def test_a_path_that_finds_nothing_is_a_runtime_error(path: str, value: Any) -> None:
    with pytest.raises(StateError) as error:
        _find(path, value)
    assert error.value.error == "States.Runtime"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "$a",
        "$.",
        "$..a",
        "$.*",
        "$.a[*]",
        "$.a[-1]",
        "$.a[0:1]",
        "$.a[?(@.b)]",
        "$.a b",
        "$.a.length()",
    ],
)
def test_a_path_that_may_find_several_values_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        paths.compile_path(path, "field")


def _is_barred(value: Any, names: list[str]) -> bool:
    """Whether something that is no object stands on the way."""
    for name in names:
        value = value.get(name, {})
        if not isinstance(value, dict):
            return True
    return False


@given(value=_OBJECTS, names=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3), result=_JSON)
def test_what_is_placed_is_found_there_and_the_input_stays(value: Any, names: list[str], result: Any) -> None:
    path = "$." + ".".join(names)
    place = paths.compile_result_path(path)
    before = copy.deepcopy(value)
    if _is_barred(value, names[:-1]):
        with pytest.raises(StateError, match="ResultPathMatchFailure"):
            place(value, result)
        return
    placed = place(value, result)
    assert value == before
    assert _find(path, placed) == result
    assert {key: each for key, each in placed.items() if key != names[0]} == {
        key: each for key, each in value.items() if key != names[0]
    }


@given(value=_JSON, result=_JSON)
def test_a_result_replaces_the_input_or_is_dropped(value: Any, result: Any) -> None:
    assert paths.compile_result_path("$")(value, result) == result
    assert paths.compile_result_path(None)(value, result) == value


@given(value=_JSON)
def test_a_template_without_paths_is_itself(value: Any) -> None:
    assert compile_template(value)({}, _nothing) == value


def test_a_template_is_filled_at_every_depth() -> None:
    template = {"a.$": "$.x", "b": [{"c.$": "$$.y", "d": "$.x"}], "e.$": "States.Format('{}', $.x)"}
    filled = compile_template(template)({"x": 1}, lambda: {"y": 2})
    assert filled == {"a": 1, "b": [{"c": 2, "d": "$.x"}], "e": "1"}


def _compute(expression: str, value: Any = None) -> Any:
    return compile_intrinsic(expression, "field")(value, _nothing)


@pytest.mark.parametrize(
    ("expression", "value", "result"),
    [
        ("States.Format('plain')", None, "plain"),
        ("States.Format('{} {}', 'a', null)", None, "a null"),
        (r"States.Format('\{{}\}', 1)", None, "{1}"),
        (r"States.Format('back\\slash')", None, "back\\slash"),
        ("States.Format($.t, 1)", {"t": "n={}"}, "n=1"),
        ("States.Format('{}', 1.5)", None, "1.5"),
        ("States.Array()", None, []),
        (r"States.Array('it\'s', true, -2.5e1)", None, ["it's", True, -25.0]),
        ("States.Array( 'a' ,  $.x )", {"x": 1}, ["a", 1]),
        ("States.ArrayLength(States.Array(1, 2))", None, 2),
        ("States.MathAdd(1, $['a b'])", {"a b": 2}, 3),
        ("States.MathAdd(1.5, 2.4)", None, 4),
        ("States.StringToJson('[1]')", None, [1]),
        ("States.JsonToString($)", {"ä": 1}, '{"ä":1}'),
    ],
)
def test_an_intrinsic_function_computes(expression: str, value: Any, result: Any) -> None:
    computed = _compute(expression, value)
    assert computed == result
    assert type(computed) is type(result)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("States.Format('{}')", None),
        ("States.Format('{}', 1, 2)", None),
        ("States.Format(1)", None),
        ("States.Format('{}', $)", {"a": 1}),
        ("States.ArrayLength($)", "abc"),
        ("States.MathAdd($, 1)", True),
        ("States.MathAdd(2147483647, 1)", None),
        ("States.StringToJson($)", 1),
        ("States.StringToJson($)", "NaN"),
    ],
)
def test_a_bad_argument_is_an_intrinsic_failure(expression: str, value: Any) -> None:
    with pytest.raises(StateError) as error:
        _compute(expression, value)
    assert error.value.error == "States.IntrinsicFailure"


@pytest.mark.parametrize(
    "expression",
    [
        "States.UUID()",
        "States.Hash('a', 'MD5')",
        "States.Format",
        "States.Format('a'",
        "States.Format('a) ",
        "States.Format('a') more",
        r"States.Format('\n')",
        "States.Format(nothing)",
        "States.MathAdd(1)",
        "States.ArrayLength(1, 2)",
        "States.StringToJson()",
        "Format('a')",
        "States.Array(1 2)",
    ],
)
def test_an_expression_that_is_not_supported_is_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        compile_intrinsic(expression, "field")


@given(value=_JSON)
def test_json_goes_to_a_string_and_back(value: Any) -> None:
    assert _compute("States.StringToJson(States.JsonToString($))", value) == value


@pytest.mark.parametrize(
    ("error", "names", "taken"),
    [
        ("A", {"A"}, True),
        ("A", {"B"}, False),
        ("A", {"States.ALL"}, True),
        ("A", {"States.TaskFailed"}, True),
        ("States.Timeout", {"States.ALL"}, True),
        ("States.Timeout", {"States.TaskFailed"}, False),
        ("States.Timeout", {"States.Timeout"}, True),
        ("States.Runtime", {"States.ALL"}, False),
        ("States.Runtime", {"States.Runtime"}, False),
        ("States.DataLimitExceeded", {"States.ALL"}, False),
        ("States.DataLimitExceeded", {"States.TaskFailed"}, False),
        ("States.DataLimitExceeded", {"States.DataLimitExceeded"}, True),
    ],
)
def test_which_names_take_an_error(error: str, names: set[str], taken: bool) -> None:
    assert matches(error, frozenset(names)) is taken


def test_delays_grow_by_the_rate_up_to_the_bound() -> None:
    [retrier] = compile_retriers(
        [{"ErrorEquals": ["A"], "IntervalSeconds": 2, "BackoffRate": 3, "MaxDelaySeconds": 20}]
    )
    assert [retrier.delay(tries) for tries in range(4)] == [2, 6, 18, 20]
    assert retrier.delay(10_000) == 20


@given(tries=st.integers(0, 20))
def test_full_jitter_stays_between_nothing_and_the_delay(tries: int) -> None:
    [retrier] = compile_retriers(
        [{"ErrorEquals": ["A"], "IntervalSeconds": 2, "MaxDelaySeconds": 30, "JitterStrategy": "FULL"}]
    )
    assert 0 <= retrier.delay(tries) <= min(2 * 2.0**tries, 30)


def test_sizes_are_bytes_of_utf8() -> None:
    assert (data.size("abc"), data.size("ä"), data.size("😀")) == (3, 2, 4)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: object()}, "\ud800", {"a": {1, 2}}])
def test_what_is_no_json_is_not_encoded(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        data.encode(value)
