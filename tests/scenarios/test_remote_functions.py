"""Functions that run elsewhere, in whole turns: by HTTP, as a Lambda, as an MCP server's tool."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scenarios.elsewhere import ITEM, MAYBE, SECRET, Elsewhere, call
from tests.support.backends import ONLY_EMBEDDED
from tests.support.soundness import CALL, REPLY, assert_sound, named, story, told
from tests.support.wire_server import json_answer


def test_functions_of_each_kind_answer_side_by_side(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    elsewhere.http.answers.append(json_answer({"content": "Ordered.", "additional_data": {"order": 7}}))
    calls = [call("order", item="tea"), call("count", item="cups"), call("weather", city="Bern")]
    put = elsewhere.put(
        elsewhere.by_http(),
        elsewhere.by_lambda(),
        elsewhere.by_mcp("weather", "weather"),
        script=[{"tool_calls": calls}, {"text": "All done."}],
    )
    assert put.status == 200, put.text
    assert put.body["functions"][2]["description"] == "Tells the weather of a city."
    thread = system.start("Do it", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events)[:2] == ["UserMessage", "ThreadStart"]
    assert sorted(story(events)[2:]) == sorted([*CALL * 3, *["ToolResponse"] * 3, *REPLY])
    assert told(system, thread) == [
        ("Ordered.", True),
        ("Counted cups.", True),
        ("Bern: sun for 1 days", True),
    ]
    data = {event["name"]: event["additional_data"] for event in named(events, "ToolResponse")}
    assert data["order"] == {"order": 7}
    assert data["count"] == {"count": 3}
    ids = {event["name"]: event["tool_call_id"] for event in named(events, "ToolCall")}
    headers = elsewhere.http.received[0].headers
    assert headers["idempotency-key"] == ids["order"]
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert (headers["parley-user"], headers["parley-thread"]) == ("dev", thread)
    assert elsewhere.events[0]["idempotency_key"] == ids["count"]
    assert elsewhere.events[0]["context"]["thread_id"] == thread
    assert not [item for item in system.items(thread) if SECRET in item.body]


@pytest.mark.parametrize("kind", ["http", "lambda", "mcp"])
def test_a_confirmed_action_runs_elsewhere_once_with_the_edited_arguments(
    elsewhere: Elsewhere, kind: str
) -> None:
    system = elsewhere.system
    elsewhere.http.answers.append(json_answer("Ordered."))
    asks: dict[str, Any] = {"requires_user_confirmation": True, "confirmation_question": "Really {item}?"}
    function = {
        "http": elsewhere.by_http(**asks),
        "lambda": elsewhere.by_lambda("order", **asks),
        "mcp": elsewhere.by_mcp("order", "order", confirmation_question="Really {item}?"),
    }[kind]
    script = [{"tool_calls": [call("order", item="tea", count=1)]}, {"text": "All done."}]
    assert elsewhere.put(function, script=script).status == 200
    thread = system.start("Do it", "talker")
    (proposal,) = system.pending(thread)
    assert proposal["question"] == "Really tea?"
    refused = system.request(
        "POST", f"/confirmations/{proposal['proposal_id']}", body={"approved": True, "arguments": {"item": 1}}
    )
    assert (refused.status, refused.error) == (422, "invalid_arguments")
    assert "item must be text" in refused.body["error"]["message"]
    assert elsewhere.http.received == elsewhere.events == elsewhere.tools.ordered == []
    edited = {"item": "coffee", "count": 2}
    assert system.decide(proposal, True, arguments=edited)["outcome"] == "applied"
    system.rest(thread, turns=1)
    assert_sound(system, thread)
    assert told(system, thread)[0][1] is True
    received = {
        "http": [(each.headers.get("idempotency-key"), each.body) for each in elsewhere.http.received],
        "lambda": [(event["idempotency_key"], event["arguments"]) for event in elsewhere.events],
        "mcp": [(each["key"], {k: each[k] for k in edited}) for each in elsewhere.tools.ordered],
    }
    assert received.pop(kind) == [(proposal["proposal_id"], edited)]
    assert not any(received.values())


@ONLY_EMBEDDED
def test_a_person_is_asked_with_the_default_of_what_the_model_left_out(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    properties = {**ITEM["properties"], "count": {"type": "integer", "default": 12}}
    asks: dict[str, Any] = {
        "requires_user_confirmation": True,
        "confirmation_question": "Order {count} times {item}?",
    }
    function = elsewhere.by_http(parameters={**ITEM, "properties": properties, "required": ["item"]}, **asks)
    assert elsewhere.put(function, script=[{"tool_calls": [call("order", item="tea")]}]).status == 200
    (proposal,) = system.pending(system.start("Do it", "talker"))
    assert (proposal["question"], proposal["arguments"]) == ("Order 12 times tea?", {"item": "tea"})


@ONLY_EMBEDDED
def test_a_declined_action_reaches_nobody(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    script = [{"tool_calls": [call("order", item="tea")]}, {"text": "All right."}]
    elsewhere.put(elsewhere.by_http(requires_user_confirmation=True), script=script)
    thread = system.start("Do it", "talker")
    (proposal,) = system.pending(thread)
    system.decide(proposal, False)
    system.rest(thread, turns=1)
    assert_sound(system, thread)
    assert elsewhere.http.received == []


def test_what_fails_elsewhere_is_told_and_the_turn_goes_on(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    elsewhere.http.answers.append(json_answer({"content": "password=hunter2"}, 500))
    calls = [call("order", item="tea"), call("count", item="closed"), call("shop_refuse", why="today")]
    put = elsewhere.put(
        elsewhere.by_http(),
        elsewhere.by_lambda(),
        elsewhere.by_mcp("shop", "*"),
        script=[{"tool_calls": calls}, {"text": "Some of it failed."}],
    )
    assert put.status == 200, put.text
    thread = system.start("Do it", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    results = told(system, thread)
    assert [ok for _, ok in results] == [False] * 3
    assert results[0][0] == f"order answered 500 Internal Server Error. {MAYBE}"
    assert results[1][0] == "It is closed."
    assert results[2][0] == "Error executing tool refuse: No, for today."
    shown = [(event["content"], event["ok"]) for event in named(events, "ToolResponse")]
    assert sorted(shown) == sorted(results)
    assert "hunter2" not in json.dumps(events)


@ONLY_EMBEDDED
def test_arguments_that_do_not_fit_are_told_and_nobody_is_asked(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    system.agent("helper")
    asks: dict[str, Any] = {"requires_user_confirmation": True, "parameters": ITEM}
    hand_over = {"kind": "subagent", "subagent_id": "helper", "subagent_user_message": "{item}"}
    names = ["order", "count", "weather", "help", "helpAtOnce"]
    bad = [call(name, item="x") for name in names]
    put = elsewhere.put(
        elsewhere.by_http(requires_user_confirmation=True),
        elsewhere.by_lambda(**asks),
        elsewhere.by_mcp("weather", "weather"),
        {"name": "help", "implementation": hand_over, **asks},
        {"name": "helpAtOnce", "implementation": hand_over, "parameters": ITEM},
        script=[{"tool_calls": bad}, {"text": "None of it worked."}],
    )
    assert put.status == 200, put.text
    thread = system.start("Do it", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    short = ("Validation failed: item must have at least 2 characters", False)
    assert told(system, thread) == [
        short,
        short,
        ("Validation failed: city is missing", False),
        short,
        short,
    ]
    assert not {"ActionRequiresConfirmation", "AgentSubthreadStart"} & set(story(events))
    assert elsewhere.http.received == elsewhere.events == []
