"""People, tasks, timers and repair at the same time, store call by store call: exactly one of them decides.

Everybody is told what really happened, the models too, and the history stays whole: see ``truth``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from parley.domain.proposals import Outcome
from parley.turns.repair import repair_due
from tests.faults.world import CONFIRMATION, World
from tests.support.interleaved import GatedStore, interleave

EXAMPLES = int(os.environ.get("PARLEY_FAULTS", "0")) or 50
PROFILE = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

ACTORS = st.one_of(
    st.tuples(st.sampled_from(["approve", "approve", "decline"]), st.integers(0, 5)),
    st.tuples(st.sampled_from(["write", "cancel", "expire", "task", "repair"]), st.integers(0, 5)),
)
ORDER = st.lists(st.integers(0, 3), max_size=60)
POLICY = st.sampled_from(["supersede", "queue", "reject"])
WORDS = st.sampled_from(["act", "ask", "deep"])


class Race:
    """A conversation in which ``word`` was written, and worked at for so many steps."""

    def __init__(self, word: str, policy: str, steps: int | None) -> None:
        self.world = World()
        self.world.store.inner = GatedStore(self.world.store.inner)
        self.world.begin(policy)
        self.world.work()
        self.world.write(f"{word} for me")
        if steps is None:
            self.world.work()
        for _ in range(steps or 0):
            self.world.step()
        self.proposals = [entry.proposal_id for entry in self.world.conversation().proposals]

    def actor(self, kind: str, which: int) -> Callable[[], Any]:
        world, pick = self.world, which
        match kind:
            case "approve" | "decline":
                if not self.proposals:
                    return lambda: None
                proposal = self.proposals[pick % len(self.proposals)]
                return lambda: world.decide(proposal, approved=kind == "approve")
            case "write":
                content = f"talk {len(world.messages)}"
                return lambda: world.write(content)
            case "cancel":
                return world.cancel
            case "expire":
                return lambda: world.time_passes(CONFIRMATION + 10)
            case "repair":
                return lambda: repair_due(world.runtime)
            case _:
                return lambda: world.step(pick)

    def run(self, actors: list[tuple[str, int]], order: list[int]) -> None:
        tasks = [actor for actor in actors if actor[0] == "task"]
        once = [actor for actor in actors if actor[0] not in ("task", "write")]
        writes = [actor for actor in actors if actor[0] == "write"]
        chosen = [*once, *writes[:1], *tasks[:1]]
        interleave([self.actor(kind, which) for kind, which in chosen], order)
        self.world.work()
        self.world.close()


@PROFILE
@given(
    word=WORDS,
    policy=POLICY,
    steps=st.none() | st.integers(0, 40),
    actors=st.lists(ACTORS, min_size=2, max_size=4),
    order=ORDER,
)
@example(word="act", policy="supersede", steps=None, actors=[("approve", 0), ("write", 0)], order=[0, 1] * 20)
@example(word="deep", policy="queue", steps=None, actors=[("cancel", 0), ("approve", 3)], order=[1, 0] * 20)
def test_whatever_happens_at_once_has_one_outcome(
    word: str, policy: str, steps: int | None, actors: list[tuple[str, int]], order: list[int]
) -> None:
    Race(word, policy, steps).run(actors, order)


@PROFILE
@given(steps=st.integers(0, 12), first=st.booleans(), order=ORDER)
def test_a_cancel_beside_any_task_of_a_plain_turn_is_told_the_truth(
    steps: int, first: bool, order: list[int]
) -> None:
    race = Race("talk", "supersede", steps)
    actors = [race.actor("cancel", 0), race.actor("task", 0)]
    interleave(actors if first else actors[::-1], order)
    race.world.work()
    race.world.close()


OUTCOMES = ["approve", "decline", "expire", "write", "cancel"]


@PROFILE
@given(word=WORDS, decisions=st.lists(st.tuples(st.sampled_from(OUTCOMES), st.integers(0, 5)), max_size=8))
def test_actions_that_wait_together_are_decided_in_any_order_and_mixture(
    word: str, decisions: list[tuple[str, int]]
) -> None:
    race = Race(word, "supersede", None)
    expected: dict[str, Outcome] = {}
    written = False
    for what, which in decisions:
        undecided = [entry for entry in race.proposals if entry not in expected]
        match what:
            case "approve" | "decline":
                proposal = race.proposals[which % len(race.proposals)]
                outcome = Outcome.APPROVED if what == "approve" else Outcome.DECLINED
                expected.setdefault(proposal, outcome)
            case "expire":
                expected |= dict.fromkeys(undecided, Outcome.EXPIRED)
            case "cancel" if undecided:
                expected |= dict.fromkeys(undecided, Outcome.CANCELLED)
            case "write" if not written:
                written = True
                expected |= dict.fromkeys(undecided, Outcome.SUPERSEDED)
        if what != "write" or written:
            race.actor(what, which)()
        race.world.work()
        if race.world.conversation().turns > 1:
            break
    later = [entry for entry in race.proposals if entry not in expected]
    race.world.close()
    for proposal in race.proposals:
        stands = expected.get(proposal, Outcome.APPROVED if proposal in later else None)
        assert race.world.decisions.get(proposal, stands) is stands


@pytest.mark.parametrize("word", ["act", "ask", "deep"])
def test_all_actions_of_a_reply_wait_before_anybody_hears_of_one(word: str) -> None:
    """Looked at behind every store call: a reply's actions are waiting all or none."""
    race = Race(word, "supersede", 0)
    seen: set[tuple[int, ...]] = set()

    def look() -> None:
        by_step: dict[str, int] = {}
        for entry in race.world.conversation().proposals:
            by_step[entry.thread_id] = by_step.get(entry.thread_id, 0) + 1
        seen.add(tuple(sorted(by_step.values())))

    for _ in range(200):
        if not race.world.orchestrator.sent and not race.world.stepper.ready():
            break
        interleave([race.world.step, *[look] * 40], [0, 1] * 40)
    full = {"act": {2}, "ask": {1, 2}, "deep": {1, 2}}[word]
    assert {number for numbers in seen for number in numbers} <= full
    race.world.close()
