"""The three example conversations, whole: every event in its order, and the history that they leave."""

from __future__ import annotations

import json
from typing import Any

from parley_marketer import agents as demo_agents
from tests.support.outline import outline, tree
from tests.support.soundness import assert_sound, named
from tests.support.systems import System

CHANGE: dict[str, Any] = {"products": [1, 2, 3], "label": "Sale", "field": "custom_label_0"}
QUESTION = "Change custom_label_0 to 'Sale' for {} products?"
CHANGED = "Changed custom_label_0 to 'Sale' for {} products."
DONE = f"Done. {CHANGED}"


def generated(name: str, arguments: dict[str, Any], prefix: str = "") -> list[tuple[Any, ...]]:
    """A call while the model writes it, then whole."""
    text = json.dumps(arguments)
    return [
        (f"{prefix}FunctionGenerationStart", name),
        (f"{prefix}FunctionArgumentsChunk", text),
        (f"{prefix}ToolCall", name, arguments),
    ]


def said(text: str, prefix: str = "") -> list[tuple[Any, ...]]:
    """A text while it is written, then whole."""
    return [(f"{prefix}StreamMessageChunk", text), (f"{prefix}MessageEnd", text, "stop")]


def labels_of(system: System) -> dict[int, str]:
    """The products that have the label, by number."""
    data = system.data("marketer")
    products = {
        int(key.removeprefix("product/")): value for key, value in data.items() if key[:8] == "product/"
    }
    return {
        number: product["labels"]["custom_label_0"]
        for number, product in products.items()
        if product["labels"].get("custom_label_0") == "Sale"
    }


def test_scenario_1_a_simple_function_then_what_to_do_next(system: System) -> None:
    system.open_shop(suggesting=True)
    assistant = next(agent for agent in demo_agents() if agent.agent_id == "general-assistant")
    name, arguments = "getTopProducts", {"limit": 5, "sortBy": "revenue"}
    actions = [
        {"label": "Analyze trends", "message": "Analyze the trends of these products"},
        {"label": "Change prices", "message": "Change the prices of these products"},
    ]
    script = [
        {"when": "top 5", "text": "Let me look.", "tool_calls": [{"name": name, "arguments": arguments}]},
        {"when": "top 5", "text": "Here are the top 5 products by revenue."},
        {"purpose": "suggestions", "when": "top 5", "text": json.dumps({"actions": actions})},
    ]
    system.put_agent(assistant.but(settings={"script": script}))
    message = "Show me top 5 products"
    thread = system.start(message)
    system.rest(thread, turns=1)

    events = assert_sound(system, thread)
    (response,) = named(events, "ToolResponse")
    table = response["additional_data"]["table_data"]
    assert len(table["rows"]) == 5
    assert all(str(row[1]) in response["content"] for row in table["rows"])
    assert outline(events) == [
        ("UserMessage", message),
        ("ThreadStart", False),
        ("StreamMessageChunk", "Let me look."),
        *generated(name, arguments)[:2],
        ("MessageEnd", "Let me look.", "tool_calls"),
        generated(name, arguments)[2],
        ("ToolResponse", "getTopProducts", response["content"], True),
        *said("Here are the top 5 products by revenue."),
        ("ThreadEnd", 1),
        ("ProposeActions", actions),
    ]
    assert tree(system, thread) == [
        ("USER_MESSAGE", message),
        ("ASSISTANT_TOOL_CALL", "Let me look.", (name, arguments)),
        ("TOOL_RESPONSE", response["content"]),
        ("ASSISTANT_MESSAGE", "Here are the top 5 products by revenue."),
    ]


def test_scenario_2_a_function_that_a_person_confirms(system: System) -> None:
    system.open_shop()
    message = "Change custom_label_0 to 'Sale' for products 1, 2, 3"
    name, arguments = "changeCustomLabel", CHANGE
    thread = system.start(message)
    (proposal,) = system.pending(thread)
    paused = [
        ("UserMessage", message),
        ("ThreadStart", False),
        *generated(name, arguments),
        ("ActionRequiresConfirmation", name, arguments, QUESTION.format(3)),
    ]
    assert outline(system.events(thread)) == paused
    assert system.status(thread)["phase"] == "awaiting_approval"
    assert labels_of(system) == {}, "nothing has happened yet"
    assert tree(system, thread)[-1] == ("PENDING_USER_CONFIRMATION", QUESTION.format(3))

    assert system.decide(proposal, True) == {"outcome": "applied", "decision": "approved"}
    system.rest(thread, turns=1)
    assert outline(assert_sound(system, thread)) == [
        *paused,
        ("ActionConfirmed", "dev", arguments),
        ("ThreadStart", True),
        ("ToolResponse", name, CHANGED.format(3), True),
        *said(DONE.format(3)),
        ("ThreadEnd", 1),
    ]
    assert labels_of(system) == dict.fromkeys((1, 2, 3), "Sale")
    assert tree(system, thread) == [
        ("USER_MESSAGE", message),
        ("ASSISTANT_TOOL_CALL", "", (name, arguments)),
        ("PENDING_USER_CONFIRMATION", QUESTION.format(3)),
        ("TOOL_RESPONSE", CHANGED.format(3)),
        ("ASSISTANT_MESSAGE", DONE.format(3)),
    ]


def test_scenario_3_a_subagent_whose_action_a_person_confirms(system: System) -> None:
    system.open_shop()
    message = "Manage products: change label for top 10"
    request = {"user_request": "change label for top 10"}
    top = {"limit": 10, "sortBy": "revenue"}
    asked = "User wants to: change label for top 10"
    thread = system.start(message)
    (proposal,) = system.pending(thread)
    assert proposal["thread_id"] != thread
    listed = named(system.events(thread), "ToolResponse")[0]["content"]
    change = {"products": proposal["arguments"]["products"], "label": "Sale"}
    paused = [
        ("UserMessage", message),
        ("ThreadStart", False),
        *generated("manageProducts", request),
        ("AgentSubthreadStart", "product-manager"),
        ("sub/SubthreadUserMessage", asked),
        *generated("getTopProducts", top, "sub/"),
        ("sub/ToolResponse", "getTopProducts", listed, True),
        *generated("changeCustomLabel", change, "sub/"),
        ("sub/ActionRequiresConfirmation", "changeCustomLabel", change, QUESTION.format(10)),
    ]
    assert outline(system.events(thread)) == paused

    assert system.decide(proposal, True)["outcome"] == "applied"
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert outline(events) == [
        *paused,
        ("sub/ActionConfirmed", "dev", change),
        ("sub/ThreadStart", True),
        ("sub/ToolResponse", "changeCustomLabel", CHANGED.format(10), True),
        *said(DONE.format(10), "sub/"),
        ("ToolResponse", "manageProducts", DONE.format(10), True),
        *said(DONE.format(10)),
        ("ThreadEnd", 1),
    ]
    inside = {(event["subthread_id"], event["parent_thread_id"]) for event in events if event["subthread_id"]}
    assert inside == {(proposal["thread_id"], thread)}
    assert labels_of(system) == dict.fromkeys(change["products"], "Sale")
    assert tree(system, thread) == [
        ("USER_MESSAGE", message),
        ("ASSISTANT_TOOL_CALL", "", ("manageProducts", request)),
        (
            "AGENT_SUBTHREAD",
            "product-manager",
            [
                ("USER_MESSAGE", asked),
                ("ASSISTANT_TOOL_CALL", "", ("getTopProducts", top)),
                ("TOOL_RESPONSE", listed),
                ("ASSISTANT_TOOL_CALL", "", ("changeCustomLabel", change)),
                ("PENDING_USER_CONFIRMATION", QUESTION.format(10)),
                ("TOOL_RESPONSE", CHANGED.format(10)),
                ("ASSISTANT_MESSAGE", DONE.format(10)),
            ],
        ),
        ("TOOL_RESPONSE", DONE.format(10)),
        ("ASSISTANT_MESSAGE", DONE.format(10)),
    ]
