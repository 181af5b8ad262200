"""The function protocol: validation words, outcomes, results, a pack's data."""

import asyncio
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator, model_validator

from parley.clock import MovableClock
from parley.domain.errors import SaveConflict, StoreUnavailable
from parley.tools.data import ProjectData
from parley.tools.function import (
    Function,
    FunctionArguments,
    FunctionContext,
    FunctionFailed,
    FunctionResult,
    agent_function,
)
from parley.tools.registry import FunctionRegistry
from parley.tools.results import LARGEST_DATA, LONGEST_CONTENT, clean_content, clean_data
from parley.turns.function_ports import FunctionCall, FunctionOutcome
from parley.turns.ports import Item
from tests.support.memory_store import MemoryStore


class Range(BaseModel):
    low: int = Field(ge=0)
    high: int = Field(le=9)


class Probe(Function):
    """What it does is up to the test."""

    name = "probe"
    description = "Probes."
    requires_user_confirmation = True
    confirmation_question = "Probe {limit}?"
    does: Callable[[Any], Any] = staticmethod(lambda arguments: "done")
    seen: list[FunctionContext]

    class Arguments(FunctionArguments):
        limit: int = Field(default=10, ge=1, le=100)
        order: Literal["up", "down"] = "up"
        title: str = Field(default="x", min_length=1, max_length=5)
        tags: list[str] = Field(default_factory=list, max_length=2)
        ranges: list[Range] = Field(default_factory=list)
        flag: bool = False
        price: Decimal | None = Field(default=None, gt=0, decimal_places=2)
        code: str = Field(default="AB", pattern="^[A-Z]+$", description="capital letters")

        @model_validator(mode="after")
        def _not_thirteen(self) -> "Probe.Arguments":
            if self.limit == 13:
                raise ValueError("thirteen is unlucky")
            return self

    def handle(self, arguments: Arguments) -> Any:
        return type(self).does(arguments)


def registry(does: Callable[[Any], Any] = lambda arguments: "done") -> FunctionRegistry:
    probe = type("Probe", (Probe,), {"does": staticmethod(does)})
    return FunctionRegistry(MemoryStore(), MovableClock(), classes=[probe])


def call(does: Callable[[Any], Any], **arguments: Any) -> FunctionOutcome:
    return registry(does).call(FunctionCall("probe", arguments, "u", "p", "a", "t", "key"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"limit": 0}, "limit must be between 1 and 100"),
        ({"limit": 101}, "limit must be between 1 and 100"),
        ({"limit": "many"}, "limit must be a whole number"),
        ({"limit": 1.5}, "limit must be a whole number"),
        ({"limit": None}, "limit must be a whole number"),
        ({"order": "sideways"}, "order must be one of up or down"),
        ({"title": ""}, "title must have at least 1 character"),
        ({"title": "abcdef"}, "title must have at most 5 characters"),
        ({"title": 5}, "title must be text"),
        ({"tags": ["a", "b", "c"]}, "tags must have at most 2 entries"),
        ({"tags": "a"}, "tags must be a list"),
        ({"tags": ["a", 1]}, "tags.1 must be text"),
        ({"ranges": [{"low": -1, "high": 3}]}, "ranges.0.low must be at least 0"),
        ({"ranges": [{"low": 1}]}, "ranges.0.high is missing"),
        ({"ranges": [5]}, "ranges.0 must be an object"),
        ({"flag": "perhaps"}, "flag must be true or false"),
        ({"price": 0}, "price must be more than 0"),
        ({"price": "1.234"}, "price must have at most 2 decimal places"),
        ({"price": float("nan")}, "price must be a finite number"),
        ({"colour": "red"}, "colour is not an argument of this function"),
        ({"code": "ab"}, "code does not have the right form (capital letters)"),
        ({"limit": 13}, "thirteen is unlucky"),
        ({"limit": 0, "flag": 7}, "limit must be between 1 and 100; flag must be true or false"),
    ],
)
def test_bad_arguments_are_told_by_their_field(arguments: dict[str, Any], words: str) -> None:
    assert registry().validate("probe", arguments) == f"Validation failed: {words}"
    outcome = call(lambda given: "never", **arguments)
    assert outcome == FunctionOutcome(f"Validation failed: {words}", ok=False)


def test_a_secret_in_bad_arguments_is_not_repeated() -> None:
    assert "hunter2" not in str(registry().validate("probe", {"limit": "hunter2", "order": "hunter2"}))


def test_good_arguments_are_fine_and_an_unknown_function_is_told() -> None:
    assert registry().validate("probe", {"limit": "7"}) is None
    assert registry().validate("nope", {}) == "There is no function 'nope'."
    assert registry().spec("nope") is None
    outcome = registry().call(FunctionCall("nope", {}, "u", "p", "a", "t", "k"))
    assert not outcome.ok


def test_a_spec_tells_the_class_and_its_schema() -> None:
    spec = registry().spec("probe")
    assert spec is not None
    assert spec.requires_user_confirmation
    assert spec.confirmation_question == "Probe {limit}?"
    assert spec.parameters["type"] == "object"
    assert spec.parameters["properties"]["title"] == {
        "default": "x",
        "maxLength": 5,
        "minLength": 1,
        "type": "string",
    }
    assert "title" not in spec.parameters
    assert agent_function(Probe, requires_user_confirmation=False).requires_user_confirmation is False


def test_a_function_is_told_who_calls_and_gets_the_key() -> None:
    seen: list[FunctionContext] = []

    class Keep(Function):
        name = "keep"

        def handle(self, arguments: FunctionArguments) -> str:
            seen.append(self.context)
            self.context.data.put("a", 1)
            return "kept"

    store = MemoryStore()
    functions = FunctionRegistry(store, MovableClock(), classes=[Keep])
    functions.call(FunctionCall("keep", {}, "user", "project", "agent", "thread", "the key"))
    context = seen[0]
    assert (context.user_id, context.project_id, context.agent_id) == ("user", "project", "agent")
    assert (context.thread_id, context.idempotency_key) == ("thread", "the key")
    assert ProjectData(store, "project", __name__.partition(".")[0]).get("a") is not None
    assert ProjectData(store, "another", __name__.partition(".")[0]).get("a") is None


def test_a_failure_that_the_function_means_is_told_in_its_words() -> None:
    def does(arguments: Any) -> str:
        raise FunctionFailed("There is no order X.")

    assert call(does) == FunctionOutcome("There is no order X.", ok=False)


def test_any_other_exception_is_told_by_its_class_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    def does(arguments: Any) -> str:
        raise RuntimeError("password=hunter2")

    with caplog.at_level(logging.ERROR):
        outcome = call(does)
    assert outcome == FunctionOutcome("probe failed with an unexpected error (RuntimeError).", ok=False)
    assert "probe" in caplog.text


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(2),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        BaseExceptionGroup("of a task group", [asyncio.CancelledError()]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_function_raises_ends_only_its_call(error: BaseException) -> None:
    def does(arguments: Any) -> str:
        raise error

    words = f"probe failed with an unexpected error ({type(error).__name__})."
    assert call(does) == FunctionOutcome(words, ok=False)


class Checks(Function):
    """Its validator does what a test wants."""

    name = "checks"
    does: ClassVar[Callable[[int], int]]

    class Arguments(FunctionArguments):
        rate: int

        @field_validator("rate")
        @classmethod
        def _does(cls, rate: int) -> int:
            return Checks.does(rate)

    def handle(self, arguments: Any) -> str:
        return "ran"


def _leaves(rate: int) -> int:
    raise SystemExit


@pytest.mark.parametrize(
    ("does", "kind"), [(lambda rate: 100 // rate, "ZeroDivisionError"), (_leaves, "SystemExit")]
)
def test_a_validator_that_breaks_fails_its_call_alone(
    caplog: pytest.LogCaptureFixture, does: Callable[[int], int], kind: str
) -> None:
    Checks.does = staticmethod(does)
    functions = FunctionRegistry(MemoryStore(), MovableClock(), classes=[Checks])
    words = f"checks failed to check its arguments ({kind}). Nothing was done."
    assert functions.validate("checks", {"rate": 0}) == words
    assert kind in caplog.text


def test_a_validator_that_hangs_holds_no_turn_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    Checks.does = staticmethod(lambda rate: int(over.wait(60)))
    monkeypatch.setattr("parley.tools.registry.CHECK_SECONDS", 0.05)
    functions = FunctionRegistry(MemoryStore(), MovableClock(), classes=[Checks])
    try:
        told = functions.validate("checks", {"rate": 0})
    finally:
        over.set()
    assert told == "checks did not check its arguments within 0.05 s. Nothing was done."


def test_a_worker_that_dies_in_a_function_answers_nothing() -> None:
    class WorkerDied(BaseException):
        pass

    def does(arguments: Any) -> str:
        raise WorkerDied

    with pytest.raises(WorkerDied):
        call(does)


@pytest.mark.parametrize("result", [None, 5, {"a": 1}])
def test_a_result_that_is_none_is_a_failure(result: object) -> None:
    assert not call(lambda arguments: result).ok


def test_a_store_that_does_not_answer_is_not_the_functions_fault() -> None:
    def does(arguments: Any) -> str:
        raise StoreUnavailable("throttled")

    with pytest.raises(StoreUnavailable):
        call(does)


def test_two_classes_of_one_name_are_refused() -> None:
    other = type("Other", (Probe,), {})
    with pytest.raises(ValueError, match="two function classes are named 'probe'"):
        FunctionRegistry(MemoryStore(), MovableClock(), classes=[Probe, other]).classes()


def test_facts_for_prompts_are_gathered_and_a_failing_one_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Tells(Probe):
        name = "tells"

        def prompt_context(self) -> str:
            return f"Project {self.context.project_id}."

    class Fails(Probe):
        name = "fails"

        def prompt_context(self) -> str:
            raise RuntimeError

    functions = FunctionRegistry(MemoryStore(), MovableClock(), classes=[Tells, Fails, Probe])
    names = ["tells", "fails", "probe", "tells", "unknown"]
    told = functions.prompt_context(names, user_id="u", project_id="p", agent_id="a", thread_id="t")
    assert told == ["Project p."]
    assert "fails" in caplog.text


def test_facts_that_take_too_long_hold_no_prompt_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    over = threading.Event()

    class Hangs(Probe):
        name = "hangs"

        def prompt_context(self) -> str:
            over.wait(60)
            return "Too late."

    class Tells(Probe):
        name = "tells"

        def prompt_context(self) -> str:
            return "In time."

    monkeypatch.setattr("parley.tools.registry.FACTS_SECONDS", 0.05)
    functions = FunctionRegistry(MemoryStore(), MovableClock(), classes=[Hangs, Tells])
    try:
        told = functions.prompt_context(
            ["hangs", "tells"], user_id="u", project_id="p", agent_id="a", thread_id="t"
        )
    finally:
        over.set()
    assert told == ["In time."]
    assert "prompt_context of hangs took more than 0.05 s: left out" in caplog.text


class Colour(Enum):
    RED = "red"


def test_results_become_json_that_any_store_takes() -> None:
    data: Any = {
        "nan": float("nan"),
        "inf": [float("-inf"), 1.5],
        "money": Decimal("1.10"),
        "when": datetime(2026, 1, 2, tzinfo=UTC),
        "set": {2, 1},
        "model": Range(low=1, high=2),
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
    outcome = call(lambda arguments: FunctionResult("ok", {"a": "x" * 500_000}))
    assert outcome.ok
    assert {*outcome.additional_data} == {"omitted"}


_json = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=3), _json, max_size=3))
def test_any_data_ends_as_valid_utf8_json(data: dict[str, Any]) -> None:
    assert clean_data(clean_data(data)) == clean_data(data)
    str(clean_data(data)).encode()


class RacingStore(MemoryStore):
    """Another writer is faster, a number of times."""

    def __init__(self, races: int) -> None:
        super().__init__()
        self.races = races

    def put(self, item: Item, *, if_version: int | None) -> Item:
        if if_version is not None and self.races:
            self.races -= 1
            current = self.get(item.partition, item.sort)
            count = 0 if current is None else int(current.body)
            super().put(Item(item.partition, item.sort, str(count + 100)), if_version=None)
        return super().put(item, if_version=if_version)


def test_an_update_is_made_again_when_another_writer_was_faster() -> None:
    data = ProjectData(RacingStore(races=2), "p", "pack")
    assert data.update("count", lambda value: (value or 0) + 1) == 201


def test_an_update_gives_up_in_the_end() -> None:
    data = ProjectData(RacingStore(races=99), "p", "pack")
    with pytest.raises(SaveConflict):
        data.update("count", lambda value: (value or 0) + 1)


def test_an_update_that_changes_nothing_writes_nothing() -> None:
    store = MemoryStore()
    data = ProjectData(store, "p", "pack")
    data.put("a", {"x": 1})
    assert data.update("a", lambda value: value) == {"x": 1}
    assert store.puts == 1


def test_all_entries_are_listed_however_many() -> None:
    data = ProjectData(MemoryStore(), "p", "pack")
    for number in range(250):
        data.put(f"n/{number:04d}", number)
    data.put("other", 1)
    assert [entry.value for entry in data.list("n/")] == list(range(250))


def test_a_put_with_a_version_tells_whether_it_was_kept() -> None:
    data = ProjectData(MemoryStore(), "p", "pack")
    assert data.put("a", 1, if_version=0) is not None
    assert data.put("a", 2, if_version=0) is None
    entry = data.get("a")
    assert entry is not None
    assert (entry.value, entry.version) == (1, 1)
    data.delete("a")
    assert data.get("a") is None
