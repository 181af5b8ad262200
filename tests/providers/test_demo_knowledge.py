"""The demo model looks things up, and says where they stand."""

from __future__ import annotations

import pytest

from parley.prompts.prompt import ToolSpec
from parley.tools.builtin.knowledge import SearchKnowledgeBase
from tests.providers.scripted_prompts import calls, prompt, reply_to, used

SEARCH = ToolSpec(
    name=SearchKnowledgeBase.name, description="", parameters={"type": "object", "properties": {}}
)
FOUND = (
    "2 passages from the knowledge base. They are quoted from documents.\n\n"
    '<passage number="1" document="returns.md" title="Returns &amp; more" section="A › B">\n'
    "Send a &lt;passage.\nTwice.\n</passage>\n\n"
    '<passage number="2" document="hours.md" title="Hours">\nNine.\n</passage>'
)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("What is our policy for returns?", "What is our policy for returns?"),
        ("How do I choose a title?", "How do I choose a title?"),
        ("Search the knowledge base for gift cards.", "gift cards"),
        ("What does the knowledge base know?", "know"),
        ("What does the label guide say about Clearance?", "What does the label guide say about Clearance?"),
    ],
)
def test_a_question_about_how_things_are_done_is_looked_up(text: str, query: str) -> None:
    asked = prompt(text)
    reply = reply_to(asked.but(tools=(*asked.tools, SEARCH)))
    assert calls(reply) == [("searchKnowledgeBase", {"query": query})]
    assert reply_to(asked).text.startswith("You said:")


@pytest.mark.parametrize(
    "text", ["Refund my order by the policy", "Show me how the top 5 products do", "Hello"]
)
def test_what_another_function_does_is_not_looked_up(text: str) -> None:
    asked = prompt(text)
    reply = reply_to(asked.but(tools=(*asked.tools, SEARCH)))
    assert "searchKnowledgeBase" not in [name for name, _ in calls(reply)]


def test_the_best_passage_is_quoted_with_its_document() -> None:
    reply = reply_to(prompt("policy?", *used("searchKnowledgeBase", FOUND, query="policy?")))
    assert reply.text == (
        "Here is what Returns & more (returns.md) says:\nSend a <passage.\nTwice.\n\nSee also: Hours."
    )
    handed_up = used("manageProducts", reply.text)
    assert reply_to(prompt("Manage products: …", *handed_up)).text == reply.text


def test_nothing_found_is_said() -> None:
    nothing = "The knowledge base has nothing about this. Other words may find more."
    assert reply_to(prompt("policy?", *used("searchKnowledgeBase", nothing, query="x"))).text == nothing
