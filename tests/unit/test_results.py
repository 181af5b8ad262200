"""What becomes of a function's result before it is stored."""

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from parley.tools.results import LARGEST_DATA, LONGEST_CONTENT, clean_content, clean_data


class Extent(BaseModel):
    low: int
    high: int


class Colour(Enum):
    RED = "red"


def test_results_become_json_that_any_store_takes() -> None:
    data: Any = {
        "nan": float("nan"),
        "inf": [float("-inf"), 1.5],
        "money": Decimal("1.10"),
        "when": datetime(2026, 1, 2, tzinfo=UTC),
        "set": {2, 1},
        "model": Extent(low=1, high=2),
        "enum": Colour.RED,
        "object": object(),
        "bytes": b"123",
        3: "key",
        "half": "a\ud800b",
    }
    assert clean_data(data) == {
        "nan": None,
        "inf": [None, 1.5],
        "money": "1.10",
        "when": "2026-01-02T00:00:00+00:00",
        "set": [1, 2],
        "model": {"low": 1, "high": 2},
        "enum": "red",
        "object": "[object]",
        "bytes": "[bytes]",
        "3": "key",
        "half": "a\ufffdb",
    }


def test_what_is_nested_too_deep_or_in_a_circle_is_cut() -> None:
    circle: dict[str, Any] = {}
    circle["again"] = circle
    assert "[nested too deep]" in str(clean_data(circle))
    deep: Any = "bottom"
    for _ in range(40):
        deep = [deep]
    assert "bottom" not in str(clean_data({"deep": deep}))


def test_what_is_too_large_is_cut_and_said() -> None:
    text = clean_content("x" * 500_000)
    assert len(text) < LONGEST_CONTENT + 100
    assert "400000 more characters" in text
    assert "more than" in clean_data({"a": "x" * (LARGEST_DATA + 1)})["omitted"]


_json = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=3), _json, max_size=3))
def test_any_data_ends_as_valid_utf8_json(data: dict[str, Any]) -> None:
    assert clean_data(clean_data(data)) == clean_data(data)
    str(clean_data(data)).encode()
