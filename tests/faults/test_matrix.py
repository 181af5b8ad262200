"""A slice of the fault matrix: each scenario at every k-th death. ``make faults`` plays all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.faults.matrix import (
    EMBEDDED,
    Case,
    cases_of,
    clean,
    clean_up,
    double_cases,
    play,
    read_case,
    survive,
)
from tests.faults.on_aws import AWS_SCENARIOS, OnAws, aws_cases, on_aws
from tests.faults.person import Lost
from tests.faults.scenarios import SCENARIOS
from tests.support.mortal import Fate
from tests.support.mortal_models import LARGE

EVERY = 97
"""Prime to the number of ways to die at a call: the slice goes through all of them."""
EVERY_ON_AWS = 120


@pytest.fixture(scope="module", autouse=True)
def _folders() -> Iterator[None]:
    yield
    clean_up()


@pytest.fixture(scope="module")
def aws() -> Iterator[OnAws]:
    with on_aws() as account:
        yield account


def _lost(cases: list[Case]) -> dict[str, str]:
    lost = {}
    for case in cases:
        try:
            survive(case)
        except AssertionError as error:
            lost[str(case)] = str(error)
    return lost


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_death_at_any_call_loses_nothing(scenario: str) -> None:
    cases = [case for case, _ in cases_of(scenario, clean(scenario).points)]
    start = list(SCENARIOS).index(scenario)
    assert _lost(cases[start::EVERY]) == {}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_second_death_in_the_recovery_from_the_first_loses_nothing(scenario: str) -> None:
    pairs = double_cases(scenario, clean(scenario).points, 1, seed=1)
    assert _lost([case for case, _ in pairs]) == {}


@pytest.mark.parametrize(
    ("scenario", "label"),
    [("approved", "AwaitConfirmation"), ("cancelled", "RunTool"), ("hand-over", "ContinueAsNew")],
)
def test_a_task_that_dies_alone_at_any_of_its_calls_loses_nothing(scenario: str, label: str) -> None:
    """Each was once a way to lose an event: what others did meanwhile went on without it."""
    cases = [case for case, point in cases_of(scenario, clean(scenario).points) if point.place.label == label]
    alone = [case for case in cases if case.how == "worker"]
    assert len(alone) > 12
    assert _lost(alone[:: len(alone) // 12]) == {}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_same_scenario_makes_the_same_calls(scenario: str) -> None:
    fate = Fate()
    assert play(scenario, fate) == clean(scenario).story
    assert fate.points == clean(scenario).points
    ports = {point.port for point in fate.points}
    assert {"store", "orchestrator", "provider", "pusher", "interpreter"} <= ports
    acts = ("tool", "approved", "subagent", "aborted", "large")
    assert ("functions" in ports) == (scenario in acts)
    assert ("blobs" in ports) == (scenario == "large")


def test_large_things_come_back_whole() -> None:
    """Beyond an item's 400 KB, a state's 256 KiB and a frame's 32 KB: by reference, in what is compared above."""
    story = clean("large").story
    asked, called, answered, replied = (json.loads(message) for message in story.messages[:4])
    assert asked["content"].endswith("𝄞" * 31_000)
    assert called["tool_calls"][0]["arguments"] == {"text": LARGE}
    assert answered["content"] == "𝄞" * 100_000
    assert answered["additional_data"] == {"asked": len(LARGE)}
    assert replied["content"] == story.replies[0] == LARGE
    assert len(LARGE.encode()) > 400 * 1024


def test_a_case_is_read_as_it_is_written() -> None:
    points = clean("approved").points
    cases = [case for case, _ in cases_of("approved", points)]
    cases += [case for case, _ in double_cases("approved", points, 50, seed=7)]
    assert [read_case(str(case)) for case in cases] == cases
    assert {case.how for case in cases} == set(EMBEDDED)


@pytest.mark.parametrize("scenario", AWS_SCENARIOS)
def test_a_lambda_that_dies_at_any_call_loses_nothing(aws: OnAws, scenario: str) -> None:
    cases = [case for case, _ in aws_cases(scenario, aws.clean(scenario).points)]
    assert {str(case): wrong for case in cases[7::EVERY_ON_AWS] if (wrong := aws.wrong(case))} == {}


def test_what_is_lost_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A matrix that finds nothing when there is something proves nothing: here no process goes on with its tasks."""
    monkeypatch.setattr("parley.embedded.interpreter.service.recover", lambda engine: None)
    monkeypatch.setattr("parley.turns.repair.examine", lambda *args, **options: None)
    with pytest.raises(Lost, match="not within"):
        survive(read_case("plain:process:InvokeModel.1.5.before"))
