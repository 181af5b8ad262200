"""The fault matrix: every call of every scenario, a death before it and one after it.

A case is written ``SCENARIO:HOW:WORKER.N.CALL.SIDE``, such as ``plain:process:BuildPrompt.1.7.before``. How is
``process`` (the whole process dies and another opens its folder), ``worker`` (it alone dies; its lease or its time runs
out) or, on AWS, ``lambda``. A second death follows as ``+CALL.SIDE``: at that call, whosever, after the first.
"""

from __future__ import annotations

import functools
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

from parley.clock import MovableClock
from parley.turns import agents, projects
from tests.faults.judge import Story, differences, tell
from tests.faults.person import PROJECT, USER, Lost
from tests.faults.process import Process
from tests.faults.scenarios import AGENTS, FUNCTIONS, OTHERWISE, SCENARIOS
from tests.faults.stage import Stage
from tests.support.mortal import INTERPRETER, Death, Fate, Place, Point, Side
from tests.support.mortal_world import Outside

How = Literal["process", "worker", "lambda"]
EMBEDDED: tuple[How, ...] = ("process", "worker")
SIDES: tuple[Side, ...] = get_args(Side)
LATER = 60
"""A second death falls within so many calls after the first."""


class Case(NamedTuple):
    """A scenario and the deaths in it."""

    scenario: str
    how: How
    deaths: tuple[Death, ...]

    def __str__(self) -> str:
        words = []
        for death in self.deaths:
            where = ".".join(str(part) for part in death.place) if death.place else str(death.call)
            words.append(f"{where}.{death.side}")
        return f"{self.scenario}:{self.how}:{'+'.join(words)}"


def read_case(text: str) -> Case:
    """What ``str`` of a case gave."""
    scenario, how, deaths = text.split(":")
    first, *others = deaths.split("+")
    label, nth, call, side = first.split(".")
    found = [Death(Place(label, int(nth), int(call)), cast(Side, side))]
    for other in others:
        later, side = other.split(".")
        found.append(Death(None, cast(Side, side), int(later)))
    return Case(scenario, cast(How, how), tuple(found))


def cases_of(scenario: str, points: Iterable[Point]) -> Iterator[tuple[Case, Point]]:
    """Every single death. What the interpreter saves, it saves as the process."""
    for point in points:
        for how in EMBEDDED:
            if how == "worker" and point.place.label == INTERPRETER:
                continue
            for side in SIDES:
                yield Case(scenario, how, (Death(point.place, side),)), point


def double_cases(scenario: str, points: list[Point], count: int, seed: int) -> Iterator[tuple[Case, Point]]:
    """So many pairs of deaths, drawn by the seed."""
    chance = random.Random(f"{scenario} {seed}")  # noqa: S311 - a sample, no secret
    for _ in range(count):
        point, how = chance.choice(points), chance.choice(EMBEDDED)
        if point.place.label == INTERPRETER:
            how = "process"
        first = Death(point.place, chance.choice(SIDES))
        second = Death(None, chance.choice(SIDES), chance.randint(1, LATER))
        yield Case(scenario, how, (first, second)), point


@functools.cache
def _root() -> Path:
    """Where folders are made: in memory, if the system has such a place."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    made = Path(tempfile.mkdtemp(prefix="parley-faults-", dir=memory if memory.is_dir() else None))
    _fill(made / "template")
    return made


def _fill(folder: Path) -> None:
    """A data folder with the project, its person and its agents."""
    process = Process(
        folder,
        MovableClock(),
        Fate(),
        functions=FUNCTIONS,
        world=Outside(lambda connection, frame: None),
        before=lambda state: None,
    )
    process.begin()
    projects.ensure_project(process.runtime, projects.Project(project_id=PROJECT, name="Demo"))
    projects.ensure_member(process.runtime, PROJECT, USER, projects.Role.OWNER)
    for agent in AGENTS:
        agents.put_agent(process.runtime, PROJECT, agent)
    process.leave()


def clean_up() -> None:
    """Remove what was made."""
    if _root.cache_info().currsize:
        shutil.rmtree(_root())
        _root.cache_clear()


def play(scenario: str, fate: Fate) -> Story:
    """One run of a scenario. Raises AssertionError for what does not hold of it."""
    folder = Path(tempfile.mkdtemp(dir=_root()))
    stage = Stage(folder, fate, _root() / "template", FUNCTIONS)
    try:
        fate.playing = True
        what = (SCENARIOS | OTHERWISE)[scenario]
        what.play(stage)
        return tell(stage, what)
    finally:
        stage.close()
        shutil.rmtree(folder)


class Clean(NamedTuple):
    """A scenario without deaths."""

    story: Story
    points: list[Point]


@functools.cache
def clean(scenario: str) -> Clean:
    """Played once per process."""
    fate = Fate()
    return Clean(play(scenario, fate), fate.points)


def survive(case: Case) -> None:
    """Play a case. Raises AssertionError for whatever is lost."""
    expected = clean(case.scenario).story
    fate = Fate(list(case.deaths), whole=case.how == "process")
    story = play(case.scenario, fate)
    if not fate.died:
        raise Lost("the call was never made: this build makes other calls")
    otherwise = SCENARIOS[case.scenario].otherwise
    if otherwise and not differences(clean(otherwise).story, story):
        return
    if wrong := differences(expected, story):
        raise Lost("\n".join(wrong))
