"""Arguments of a function class: what fits, what is told, validators that break or hang."""

import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from pydantic import field_validator

from parley.clock import MovableClock
from parley.tools.function import (
    Function,
    FunctionArguments,
)
from parley.tools.registry import FunctionRegistry
from parley.turns.function_ports import FunctionCall, FunctionOutcome
from tests.support.memory_store import MemoryStore
from tests.unit.probe import call, registry


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
    given = dict.fromkeys(("limit", "order", "link"), "hunter2")
    assert "hunter2" not in str(registry().validate("probe", given))


def test_good_arguments_are_fine_and_an_unknown_function_is_told() -> None:
    assert registry().validate("probe", {"limit": "7"}) is None
    assert registry().validate("nope", {}) == "There is no function 'nope'."
    assert registry().spec("nope") is None
    outcome = registry().call(FunctionCall("nope", {}, "u", "p", "a", "t", "k"))
    assert not outcome.ok


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
