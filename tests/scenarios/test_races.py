"""Requests at the same time on a whole system, store call by store call; ``tests/faults/test_races`` has more of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parley.tools.function import agent_function
from tests.support.interleaved import GatedStore, interleave
from tests.support.soundness import assert_sound, named
from tests.support.systems import Note, System

TEXTS = ("milk", "bread", "eggs")
EXAMPLES = {"embedded": 12, "aws": 3}
REASONS = {"declined": False, "superseded": True, "cancelled": True}


def waiting(system: System) -> tuple[str, list[str]]:
    """A thread in which three actions wait, and they in the order of their calls."""
    calls = [{"name": "note", "arguments": {"text": text}} for text in TEXTS]
    asks = agent_function(Note, requires_user_confirmation=True)
    script = [{"when": "note", "tool_calls": calls}, {"when": "note", "text": "Done."}]
    system.agent(functions=[asks], script=script)
    thread = system.start("note them", "talker")
    found = {entry["arguments"]["text"]: entry["proposal_id"] for entry in system.pending(thread, 3)}
    return thread, [found[text] for text in TEXTS]


def check(system: System, thread: str, proposals: list[str], told: dict[str, set[str]]) -> None:
    """One outcome for each proposal, the one that everybody was told; done if approved, and the model knows."""
    events = assert_sound(system, thread)
    confirmed = {data["proposal_id"] for data in named(events, "ActionConfirmed")}
    rejected = {data["proposal_id"]: data for data in named(events, "ActionRejected")}
    assert confirmed | set(rejected) == set(proposals)
    notes = system.data("notes")
    for proposal in proposals:
        stands = "approved" if proposal in confirmed else rejected[proposal]["reason"]
        assert told.get(proposal, {stands}) == {stands}
        assert (f"note/{proposal}" in notes) == (stands == "approved")
        if proposal in rejected:
            assert rejected[proposal]["automaticRejection"] is REASONS[stands]
            assert rejected[proposal].get("reviewer") == (None if REASONS[stands] else "dev")
    responses = [data["ok"] for data in named(events, "ToolResponse")]
    assert sorted(responses) == sorted(proposal in confirmed for proposal in proposals)


ACTS = st.lists(
    st.tuples(st.sampled_from(["approve", "decline", "write", "cancel"]), st.integers(0, 2)),
    min_size=2,
    max_size=4,
)


@pytest.mark.parametrize(
    ("system", "at_once"), [("embedded", True), ("embedded", False), ("aws", True)], indirect=["system"]
)
def test_three_actions_of_a_reply_decided_in_any_order_mixture_and_moment(
    system: System, at_once: bool
) -> None:
    store = system.runtime.store

    @settings(max_examples=EXAMPLES[system.backend], deadline=None, suppress_health_check=list(HealthCheck))
    @given(acts=ACTS, order=st.lists(st.integers(0, 3), max_size=60))
    def decided(acts: list[tuple[str, int]], order: list[int]) -> None:
        thread, proposals = waiting(system)
        told: dict[str, set[str]] = {}
        answers: list[Any] = []

        def act(what: str, which: int) -> None:
            if what == "write":
                system.say(thread, "Never mind")
            elif what == "cancel":
                answers.append(system.cancel(thread))
            else:
                answer = system.decide(proposals[which], what == "approve")
                told.setdefault(proposals[which], set()).add(answer["decision"])
                answers.append((proposals[which], answer["outcome"]))

        works = [lambda what=what, which=which: act(what, which) for what, which in acts]
        if at_once:
            system.change_runtime(store=GatedStore(store))
            try:
                interleave(works, order)
            finally:
                system.change_runtime(store=store)
        else:
            for work in works:
                work()
        applied = [answer for answer in answers if isinstance(answer, tuple) and answer[1] == "applied"]
        assert len(applied) == len(set(applied))
        for proposal in proposals:
            answer = system.decide(proposal, True)
            told.setdefault(proposal, set()).add(answer["decision"])
        writes = sum(what == "write" for what, _ in acts)
        system.rest(thread, turns=1 + writes)
        check(system, thread, proposals, told)
        ends = [e["event"] for e in system.events(thread) if e["event"] in ("ThreadEnd", "TurnCancelled")]
        assert len(ends) == 1 + writes
        assert ("TurnCancelled" in ends) == (True in answers)

    decided()
