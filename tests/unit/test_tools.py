"""The function protocol: specifications, outcomes, errors, facts for prompts."""

import asyncio
import logging
import threading
from typing import Any

import pytest

from parley.clock import MovableClock
from parley.domain.errors import StoreUnavailable
from parley.tools.data import ProjectData
from parley.tools.function import (
    Function,
    FunctionArguments,
    FunctionContext,
    FunctionFailed,
    FunctionResult,
    agent_function,
)
from parley.tools.packs import PackFailed
from parley.tools.registry import FunctionRegistry
from parley.turns.function_ports import FunctionCall, FunctionOutcome
from tests.support.memory_store import MemoryStore
from tests.unit.probe import Probe, call, registry


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


def test_data_that_is_too_large_is_left_out_and_the_call_is_fine() -> None:
    outcome = call(lambda arguments: FunctionResult("ok", {"a": "x" * 500_000}))
    assert outcome.ok
    assert {*outcome.additional_data} == {"omitted"}


def test_a_store_that_does_not_answer_is_not_the_functions_fault() -> None:
    def does(arguments: Any) -> str:
        raise StoreUnavailable("throttled")

    with pytest.raises(StoreUnavailable):
        call(does)


def test_two_classes_of_one_name_are_refused() -> None:
    other = type("Other", (Probe,), {})
    with pytest.raises(ValueError, match="two function classes are named 'probe'"):
        FunctionRegistry(MemoryStore(), MovableClock(), classes=[Probe, other]).classes()


@pytest.mark.parametrize("name", [None, "", "send coupons", "x" * 65])
def test_a_class_that_no_agent_could_have_is_refused_by_its_place(name: str | None) -> None:
    class Nameless(Function):
        def handle(self, arguments: Any) -> str:
            return "ran"

    if name is not None:
        Nameless.name = name
    with pytest.raises(PackFailed, match=r"test_tools\..*Nameless: its name must be 1 to 64 letters"):
        FunctionRegistry(MemoryStore(), MovableClock(), classes=[Nameless]).classes()


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
