"""How a conversation starts and goes on: titles, last use, what the model is shown of what was said before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.backends import ONLY_EMBEDDED
from tests.support.outline import tree
from tests.support.soundness import assert_sound, named, prompts
from tests.support.systems import System


def last_use(system: System, agent: str) -> Any:
    agents = system.get(system.of_project("/agents"))["agents"]
    return next(entry["last_used_at"] for entry in agents if entry["agent_id"] == agent)


def test_the_next_message_builds_on_what_the_last_one_found(system: System) -> None:
    system.open_shop()
    thread = system.start("Show me top 10 products")
    system.rest(thread, turns=1)
    table = named(system.events(thread), "ToolResponse")[0]["additional_data"]["table_data"]
    first_five = [row[0] for row in table["rows"][:5]]
    system.say(thread, "Change labels for first 5")
    (proposal,) = system.pending(thread)
    assert (proposal["name"], proposal["arguments"]["products"]) == ("changeCustomLabel", first_five)
    system.decide(proposal, False, reason="not these")
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    assert named(events, "ToolResponse")[1]["content"] == "User declined this action. Reason: not these"
    assert named(events, "ActionRejected") == [
        {
            "proposal_id": proposal["proposal_id"],
            "reason": "declined",
            "automaticRejection": False,
            "reviewer": "dev",
        }
    ]
    sent = prompts(system, thread, thread)[-1].messages
    assert [message.role for message in sent] == [
        *("user", "assistant", "tool", "assistant"),
        *("user", "assistant", "tool"),
    ]
    assert sent[2].content == named(events, "ToolResponse")[0]["content"]


def test_a_message_in_place_of_a_decision_declines_it_and_is_answered_then(system: System) -> None:
    system.open_shop()
    thread = system.start("Change custom_label_0 to 'Sale' for products 1, 2, 3")
    (proposal,) = system.pending(thread)
    system.say(thread, "Show me top 2 products")
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    declined = "Previous action was automatically declined because user sent a new message."
    assert named(events, "ActionRejected") == [
        {"proposal_id": proposal["proposal_id"], "reason": "superseded", "automaticRejection": True}
    ]
    history = tree(system, thread)
    assert [entry[0] for entry in history] == [
        "USER_MESSAGE",
        "ASSISTANT_TOOL_CALL",
        "PENDING_USER_CONFIRMATION",
        "TOOL_RESPONSE",
        "ASSISTANT_MESSAGE",
        "USER_MESSAGE",
        "ASSISTANT_TOOL_CALL",
        "TOOL_RESPONSE",
        "ASSISTANT_MESSAGE",
    ]
    assert history[3] == ("TOOL_RESPONSE", declined)
    assert system.decide(proposal, True)["outcome"] == "superseded"


@ONLY_EMBEDDED
def test_arguments_outside_the_functions_rules_are_told_to_the_model_in_words(system: System) -> None:
    system.open_shop()
    thread = system.start("Show me top 500 products")
    system.rest(thread, turns=1)
    (response,) = named(assert_sound(system, thread), "ToolResponse")
    assert response["content"] == "Validation failed: limit must be between 1 and 100"
    assert response["ok"] is False


@ONLY_EMBEDDED
def test_a_thread_is_called_by_the_first_200_characters_of_its_first_message(system: System) -> None:
    system.agent()
    message = "Größe " * 100
    thread = system.start(message, "talker")
    system.rest(thread, turns=1)
    system.say(thread, "Something else")
    system.rest(thread, turns=2)
    assert system.status(thread)["title"] == message[:200]
    assert system.messages(thread)[0]["content"] == message


@ONLY_EMBEDDED
def test_an_agents_last_use_is_the_users_last_message_to_it(system: System) -> None:
    system.agent("first")
    system.agent("second")
    system.member("ann")
    assert last_use(system, "first") is None
    thread = system.start("Hello", "first")
    system.rest(thread, turns=1)
    started = last_use(system, "first")
    assert started == pytest.approx(system.clock.now(), abs=60)
    assert last_use(system, "second") is None
    system.clock.advance(600)
    system.say(thread, "Hello again")
    system.rest(thread, turns=2)
    assert last_use(system, "first") >= started + 600
    others = system.request("GET", system.of_project("/agents"), user="ann").body["agents"]
    assert {entry["last_used_at"] for entry in others} == {None}


def test_the_window_shows_the_model_the_last_messages_and_sums_up_the_rest(system: System) -> None:
    system.agent(history_window=4, system_prompt="You talk.")
    thread = system.start("message 1", "talker")
    for number in range(2, 5):
        system.rest(thread, turns=number - 1)
        system.say(thread, f"message {number}")
    system.rest(thread, turns=4)
    last = prompts(system, thread, thread)[-1]
    shown = [message.content for message in last.messages if message.role == "user"]
    assert shown[-1] == "message 4"
    assert "message 1" not in shown
    assert len(last.messages) <= 5
    assert last.system.startswith("You talk.")
    assert "message 1" in last.system, "what is not shown is summed up"
    contents = [message["content"] for message in system.messages(thread) if message["role"] == "user"]
    assert contents == [f"message {number}" for number in range(1, 5)], "people see all of it"
