"""The scripted provider's own rules: what it calls and says, and what it suggests."""

from typing import Any

import pytest

from parley.prompts.suggestions import read_suggestions
from parley.providers.scripted import ScriptedProvider
from parley.turns.model_ports import Finish, TextDelta
from tests.providers.scripted_prompts import (
    AGENT,
    answered,
    calls,
    labels,
    never,
    prompt,
    reply_to,
    suggested,
    used,
)

DECLINED = "User declined this action."


def test_an_ordinary_message_is_quoted_word_by_word() -> None:
    deltas = list(ScriptedProvider(never).stream(prompt("Hello")))
    assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == [
        "You ",
        "said: ",
        '"Hello". ',
        "How ",
        "can ",
        "I ",
        "help?",
    ]
    assert isinstance(deltas[-1], Finish)
    assert deltas[-1].usage is not None
    assert deltas[-1].usage.output_tokens == 7


def test_the_same_prompt_gets_the_same_reply() -> None:
    provider = ScriptedProvider(never)
    asked = prompt("Please refund my order")
    assert list(provider.stream(asked)) == list(provider.stream(asked))


@pytest.mark.parametrize(
    ("agent", "text", "name", "arguments"),
    [
        (
            "general-assistant",
            "Please refund it",
            "issueRefund",
            {"order_id": "A-1001", "reason": "Please refund it"},
        ),
        (
            "general-assistant",
            "Refund a-1003",
            "issueRefund",
            {"order_id": "A-1003", "reason": "Refund a-1003"},
        ),
        (
            "general-assistant",
            "Refund $12.50 of A-1003",
            "issueRefund",
            {"order_id": "A-1003", "reason": "Refund $12.50 of A-1003", "amount": "12.50"},
        ),
        ("general-assistant", "Show me top 5 products", "getTopProducts", {"limit": 5, "sortBy": "revenue"}),
        ("general-assistant", "top products by clicks", "getTopProducts", {"limit": 10, "sortBy": "clicks"}),
        (
            "general-assistant",
            "Change custom_label_0 to 'Sale' for products 1, 2, 3",
            "changeCustomLabel",
            {"products": [1, 2, 3], "label": "Sale", "field": "custom_label_0"},
        ),
        (
            "general-assistant",
            "change label to Winter deal for products 1-3 and 7",
            "changeCustomLabel",
            {"products": [1, 2, 3, 7], "label": "Winter deal"},
        ),
        (
            "general-assistant",
            "Manage products: change labels for top 10",
            "manageProducts",
            {"user_request": "change labels for top 10"},
        ),
        (
            "product-manager",
            "User wants to: change labels for top 10",
            "getTopProducts",
            {"limit": 10, "sortBy": "revenue"},
        ),
        ("product-manager", "duplicate products 4, 5", "duplicateProducts", {"products": [4, 5]}),
        (
            "general-assistant",
            "Create a task to call Bob",
            "createTask",
            {"title": "call Bob", "description": "Create a task to call Bob"},
        ),
        (
            "campaign-manager",
            "pause campaign 3",
            "editCampaignStatus",
            {"campaign_id": 3, "status": "paused"},
        ),
        (
            "campaign-manager",
            "Add negative keywords free, cheap to campaign 2",
            "addNegativeKeywords",
            {"campaign_id": 2, "keywords": ["free", "cheap"]},
        ),
    ],
)
def test_a_message_makes_the_call_that_it_asks_for(
    agent: str, text: str, name: str, arguments: dict[str, Any]
) -> None:
    reply = reply_to(prompt(text, agent=agent))
    assert calls(reply) == [(name, arguments)]
    assert reply.finish is not None
    assert reply.finish.reason == "tool_calls"


@pytest.mark.parametrize(
    "text", ["refund", "top 5 products", "manage products: top 3", "change label of products 1"]
)
def test_a_function_that_is_not_offered_is_not_called(text: str) -> None:
    assert reply_to(prompt(text, tools=False)).text.startswith("You said:")


def test_the_first_order_that_is_not_refunded_is_proposed() -> None:
    done = used("issueRefund", "Refunded 82.00 for order A-1001.", order_id="A-1001")
    seen = reply_to(prompt("refund", *done, answered("Done."), "refund once more"))
    assert seen.arguments[0]["order_id"] == "A-1002"
    declined = used("issueRefund", DECLINED, ok=False, order_id="A-1001")
    again = reply_to(prompt("refund", *declined, answered("All right."), "refund after all"))
    assert again.arguments[0]["order_id"] == "A-1001"
    told = reply_to(prompt("refund", system="Orders not yet refunded: A-1004, A-1005"))
    assert told.arguments[0]["order_id"] == "A-1004"
    none_left = reply_to(prompt("refund", system="Orders not yet refunded: none"))
    assert none_left.arguments[0]["order_id"] == "A-1001"


def test_several_named_orders_make_parallel_calls() -> None:
    assert [given["order_id"] for given in reply_to(prompt("refund A-1002 and A-1003")).arguments] == [
        "A-1002",
        "A-1003",
    ]


def test_the_subagent_labels_the_products_that_it_found() -> None:
    found = used("getTopProducts", "Top 2:\n1. product 17 (Cap): …\n2. product 39 (Belt): …", limit=2)
    reply = reply_to(prompt("User wants to: change labels for top 2", *found, agent="product-manager"))
    assert calls(reply) == [("changeCustomLabel", {"products": [17, 39], "label": "Sale"})]
    labelled = used("changeCustomLabel", "Changed custom_label_0 to 'Sale' for 2 products.")
    ended = reply_to(
        prompt("User wants to: change labels for top 2", *found, *labelled, agent="product-manager")
    )
    assert ended.text == "Done. Changed custom_label_0 to 'Sale' for 2 products."
    handed_up = used("manageProducts", ended.text)
    assert reply_to(prompt("Manage products: …", *handed_up)).text == ended.text


def test_products_of_an_earlier_turn_can_be_labelled() -> None:
    found = used("getTopProducts", "Top 2:\n1. product 17 (Cap): …\n2. product 39 (Belt): …", limit=2)
    reply = reply_to(prompt("top 2 products", *found, answered("Here…"), "Change the label for the first 1"))
    assert reply.arguments == [{"products": [17], "label": "Sale"}]


@pytest.mark.parametrize(
    ("result", "ok", "text"),
    [
        ("Refunded 82.00 for order A-1001.", True, "Done. Refunded 82.00 for order A-1001."),
        ("a\nb", True, "Here is what issueRefund found:\na\nb"),
        (DECLINED, False, "All right. You declined it, so I did not run issueRefund."),
        (
            "The reviewer declined this action. Reason: Too much.",
            False,
            "All right. The reviewer declined it, so I did not run issueRefund.",
        ),
        (
            "Previous action was automatically declined because user sent a new message.",
            False,
            "All right. You wrote something else instead, so I did not run issueRefund.",
        ),
        (
            "This action was not confirmed in time and did not run.",
            False,
            "All right. The time to approve it ran out, so I did not run issueRefund.",
        ),
        (
            "Done. All set.\n\nPrevious action was automatically declined because user sent a new message.",
            True,
            "Done. All set.",
        ),
        ("Order A-1010 was cancelled.", False, "That did not work: Order A-1010 was cancelled."),
        ("The voucher has expired.", False, "That did not work: The voucher has expired."),
        (
            "Validation failed: order_id is missing",
            False,
            "That did not work: Validation failed: order_id is missing",
        ),
    ],
)
def test_a_result_is_reported_and_a_refusal_accepted(result: str, ok: bool, text: str) -> None:
    assert reply_to(prompt("refund", *used("issueRefund", result, ok=ok))).text == text


def test_the_demo_suggests_what_its_functions_can_do() -> None:
    assert labels(suggested(AGENT, ("user", "Hello"), ("assistant", "How can I help?"))) == [
        "Show the best sellers",
        "Label the best sellers",
        "Refund an order",
    ]
    listed = "1. product 17 (Wool Apron)\n2. product 39 (Cork Sandals)"
    reply = suggested(AGENT, ("user", "Show me top 2 products"), ("assistant", listed))
    first = read_suggestions(reply.text)[0]
    assert first.message == "Change custom_label_0 to 'Sale' for products 17, 39"
    assert calls(reply_to(prompt(first.message)))[0][0] == "changeCustomLabel"
    assert labels(suggested(AGENT.but(functions=()), ("user", "Hello"))) == []
