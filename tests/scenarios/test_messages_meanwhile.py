"""What becomes of an action when a person writes something instead of deciding."""

from __future__ import annotations

import threading
from typing import Any

from tests.scenarios.asking import answered, ask, notes
from tests.support.soundness import PLAIN, assert_sound, named, story
from tests.support.systems import System


def test_a_new_message_supersedes_the_action_and_is_answered_next(system: System) -> None:
    thread, proposal = ask(system)
    system.say(thread, "Never mind, what time is it?")
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    assert story(events) == [*answered("refused"), *PLAIN]
    assert named(events, "ActionRejected") == [
        {"proposal_id": proposal["proposal_id"], "reason": "superseded", "automaticRejection": True}
    ]
    response = named(events, "ToolResponse")[0]
    assert response["ok"] is False
    assert "automatically declined because user sent a new message" in response["content"]
    assert system.decide(proposal, True) == {"outcome": "superseded", "decision": "superseded"}
    assert notes(system) == {}


def test_an_agent_may_let_the_message_wait_for_the_decision(system: System) -> None:
    thread, proposal = ask(system, on_message_while_pending="queue")
    system.say(thread, "And then?")
    assert system.pending(thread) == [proposal]
    assert system.status(thread)["queued"] == 1
    system.decide(proposal, True)
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread)) == [*answered("approved"), *PLAIN]


def test_an_agent_may_refuse_messages_while_an_action_waits(embedded: System) -> None:
    system = embedded
    thread, proposal = ask(system, on_message_while_pending="reject")
    before = len(system.items(thread))
    answer = system.request("POST", system.of_thread(thread), body={"message": "And then?"})
    assert (answer.status, answer.error) == (409, "confirmation_pending")
    assert answer.body["error"]["proposal_ids"] == [proposal["proposal_id"]]
    assert len(system.items(thread)) == before
    system.decide(proposal, False)
    system.rest(thread, turns=1)
    system.say(thread, "And then?")
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread)) == [*answered("refused"), *PLAIN]


def test_of_an_approval_and_a_message_at_the_same_instant_exactly_one_wins(system: System) -> None:
    thread, proposal = ask(system)
    together = threading.Barrier(2)
    outcome: list[Any] = []

    def approve() -> None:
        together.wait()
        outcome.append(system.decide(proposal, True)["outcome"])

    reviewer = threading.Thread(target=approve)
    reviewer.start()
    together.wait()
    system.say(thread, "Never mind")
    reviewer.join()
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    assert outcome in (["applied"], ["superseded"])
    won = outcome == ["applied"]
    assert len(notes(system)) == won
    assert story(events) == [*answered("approved" if won else "refused"), *PLAIN]
