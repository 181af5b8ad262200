"""Actions that wait for a person: every way in which they are decided, and those in which they are not."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

import on_task.run_tool
from parley.tools.function import agent_function
from parley.turns import await_confirmation, invoke_model
from parley.turns.calls import EXPIRY_MARGIN, REFUSALS
from parley.turns.projects import Role
from tests.scenarios.asking import answered, ask, notes, put_agent
from tests.support.backends import ONLY_EMBEDDED
from tests.support.soundness import assert_sound, named, story, told
from tests.support.systems import Note, System


def test_an_approved_action_runs_once_under_the_proposals_id(system: System) -> None:
    thread, proposal = ask(system)
    assert (proposal["question"], proposal["arguments"]) == ("Note milk?", {"text": "milk"})
    listed = system.get(system.of_project("/confirmations"))["confirmations"]
    assert [entry["proposal_id"] for entry in listed] == [proposal["proposal_id"]]
    assert notes(system) == {}
    assert system.decide(proposal, True) == {"outcome": "applied", "decision": "approved"}
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events) == answered("approved")
    assert notes(system) == {proposal["proposal_id"]: {"text": "milk", "ran": 1}}
    assert told(system, thread) == [("Noted: milk", True)]
    shown = [message for message in system.messages(thread) if message["kind"] == "PENDING_USER_CONFIRMATION"]
    assert [message["content"] for message in shown] == ["Note milk?"]


@ONLY_EMBEDDED
@pytest.mark.parametrize(("reviewer", "who"), [("dev", "User"), ("eva", "The reviewer")])
def test_a_declined_action_does_not_run_and_the_model_is_told_why(
    system: System, reviewer: str, who: str
) -> None:
    thread, proposal = ask(system)
    reviewing = reviewer if reviewer == "dev" else system.member(reviewer, Role.APPROVER)
    decided = system.decide(proposal, False, reason="We have milk.", user=reviewing)
    assert decided == {"outcome": "applied", "decision": "declined"}
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events) == answered("refused")
    assert named(events, "ActionRejected") == [
        {
            "proposal_id": proposal["proposal_id"],
            "reason": "declined",
            "automaticRejection": False,
            "reviewer": reviewer,
        }
    ]
    assert told(system, thread) == [(f"{who} declined this action. Reason: We have milk.", False)]
    assert notes(system) == {}


def test_an_action_expires_when_its_timer_fires(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    if system.backend == "aws":  # where the state machine's own timer is real
        for module in (await_confirmation, invoke_model):
            monkeypatch.setattr(module, "EXPIRY_MARGIN", 0)
    thread, proposal = ask(system, confirmation_seconds=1)
    system.clock.advance(1)
    if system.backend == "embedded":
        system.clock.advance(EXPIRY_MARGIN)
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events) == answered("refused")
    assert named(events, "ActionRejected") == [
        {"proposal_id": proposal["proposal_id"], "reason": "expired", "automaticRejection": True}
    ]
    assert told(system, thread) == [(REFUSALS["expired"], False)]  # type: ignore[index]
    assert system.decide(proposal, True) == {"outcome": "expired", "decision": "expired"}
    assert notes(system) == {}


def test_an_action_waits_a_day_if_the_agent_says_nothing_else(embedded: System) -> None:
    thread, proposal = ask(embedded)
    assert proposal["expires_at"] == embedded.clock.now() + 86_400
    embedded.clock.advance(86_399)
    assert embedded.pending(thread) == [proposal]
    embedded.clock.advance(1 + EXPIRY_MARGIN)
    embedded.rest(thread, turns=1)
    assert story(assert_sound(embedded, thread)) == answered("refused")


def test_an_approval_that_comes_too_late_is_an_expiry_though_no_timer_fired_yet(system: System) -> None:
    thread, proposal = ask(system, confirmation_seconds=3600)
    system.clock.advance(3600)
    assert system.decide(proposal, True) == {"outcome": "expired", "decision": "expired"}
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert [data["reason"] for data in named(events, "ActionRejected")] == ["expired"]
    assert notes(system) == {}


@pytest.mark.parametrize(
    ("system", "first"), [("embedded", True), ("embedded", False), ("aws", True)], indirect=["system"]
)
def test_a_second_decision_changes_nothing_and_is_told_what_stands(system: System, first: bool) -> None:
    thread, proposal = ask(system)
    stands = "approved" if first else "declined"
    assert system.decide(proposal, first) == {"outcome": "applied", "decision": stands}
    assert system.decide(proposal, not first) == {"outcome": "duplicate", "decision": stands}
    system.rest(thread, turns=1)
    assert system.decide(proposal, first) == {"outcome": "duplicate", "decision": stands}
    assert system.decide(proposal, not first) == {"outcome": "duplicate", "decision": stands}
    assert story(assert_sound(system, thread)) == answered("approved" if first else "refused")
    assert len(notes(system)) == first


@ONLY_EMBEDDED
def test_only_who_asked_and_the_approvers_see_and_decide_an_action(system: System) -> None:
    system.member("colleague")
    system.member("approver", Role.APPROVER)
    thread, proposal = ask(system)
    for user in ("stranger", "colleague"):
        path = f"/confirmations/{proposal['proposal_id']}"
        answer = system.request("POST", path, body={"approved": True}, user=user)
        assert (answer.status, answer.error) == (404, "not_found")
    unknown = system.request("POST", f"/confirmations/{uuid.uuid4()}", body={"approved": True})
    assert (unknown.status, unknown.error) == (404, "not_found")

    pending = {
        user: system.request("GET", system.of_project("/confirmations"), user=user)
        for user in ("stranger", "colleague", "approver")
    }
    assert pending["stranger"].status == 404
    assert pending["colleague"].body == {"confirmations": []}
    (shown,) = pending["approver"].body["confirmations"]
    assert (shown["proposal_id"], shown["user_id"]) == (proposal["proposal_id"], "dev")
    assert system.request("GET", system.of_thread(thread), user="approver").status == 404

    assert system.decide(proposal, True, user="approver")["outcome"] == "applied"
    system.rest(thread, turns=1)
    assert named(assert_sound(system, thread), "ActionConfirmed")[0]["reviewer"] == "approver"


@ONLY_EMBEDDED
def test_edited_arguments_are_checked_run_and_kept_beside_the_proposed_ones(system: System) -> None:
    thread, proposal = ask(system)
    path = f"/confirmations/{proposal['proposal_id']}"
    for wrong in ({"text": ""}, {"words": "bread"}, {}):
        answer = system.request("POST", path, body={"approved": True, "arguments": wrong})
        assert (answer.status, answer.error) == (422, "invalid_arguments")
    assert system.pending(thread) == [proposal]
    assert system.decide(proposal, True, arguments={"text": "bread"})["outcome"] == "applied"
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert named(events, "ActionConfirmed")[0]["arguments"] == {"text": "bread"}
    assert named(events, "ToolCall")[0]["arguments"] == {"text": "milk"}
    assert notes(system) == {proposal["proposal_id"]: {"text": "bread", "ran": 1}}
    assert told(system, thread) == [("Noted: bread", True)]
    record = system.store.get(f"PROPOSAL#{proposal['proposal_id']}", "PROPOSAL").body
    assert '"arguments":{"text":"milk"}' in record
    assert '"arguments":{"text":"bread"}' in record


@pytest.mark.parametrize(
    ("system", "order", "decisions"),
    [
        ("embedded", (0, 1), (True, False)),
        ("embedded", (1, 0), (True, False)),
        ("embedded", (1, 0), (True, True)),
        ("aws", (1, 0), (True, False)),
    ],
    indirect=["system"],
)
def test_two_actions_of_one_reply_are_decided_in_any_order(
    system: System, order: tuple[int, int], decisions: tuple[bool, bool]
) -> None:
    thread = system.start("note them", put_agent(system, "milk", "bread"))
    by_text = {entry["arguments"]["text"]: entry for entry in system.pending(thread, 2)}
    proposals = [by_text["milk"], by_text["bread"]]
    first, second = order
    assert system.decide(proposals[first], decisions[first])["outcome"] == "applied"
    system.wait_until(lambda: len(named(system.events(thread), "ToolResponse")) == 1, "one call is answered")
    assert len(notes(system)) == (1 if decisions[first] else 0)
    assert system.pending(thread) == [proposals[second]]
    assert system.status(thread)["turns"] == 0
    assert system.decide(proposals[second], decisions[second])["outcome"] == "applied"
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    ran = {proposals[place]["proposal_id"] for place in (0, 1) if decisions[place]}
    assert {key: value["ran"] for key, value in notes(system).items()} == dict.fromkeys(ran, 1)
    assert [ok for _, ok in told(system, thread)] == list(decisions)
    calls = [data["tool_call_id"] for data in named(events, "ToolCall")]
    answered_calls = [data["tool_call_id"] for data in named(events, "ToolResponse")]
    assert answered_calls == [calls[first], calls[second]]


@pytest.mark.parametrize("system", ["embedded"], indirect=True)
def test_an_action_that_needs_approval_since_a_moment_ago_does_not_run_without(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is changed between the model's reply and the call."""
    script = [{"when": "note", "tool_calls": [{"name": "note", "arguments": {"text": "milk"}}]}]
    run_tool = on_task.run_tool.handler

    def changed_meanwhile(event: dict[str, Any], context: Any) -> dict[str, Any]:
        system.agent(functions=[agent_function(Note, requires_user_confirmation=True)], script=script)
        return run_tool(event, context)

    monkeypatch.setattr(on_task.run_tool, "handler", changed_meanwhile)
    system.agent(functions=[agent_function(Note)], script=script)
    thread = system.start("note it", "talker")
    system.rest(thread, turns=1)
    (response,) = named(assert_sound(system, thread), "ToolResponse")
    assert response["ok"] is False
    assert "confirmation" in response["content"]
    assert system.data("notes") == {}
