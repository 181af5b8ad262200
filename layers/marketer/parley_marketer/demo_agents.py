"""The demo's agents, all on the scripted provider: they work with no key and no network."""

from __future__ import annotations

from typing import Any

from parley.domain.agents import Agent, AgentFunction, PredefinedMessage, SubagentFunction
from parley.tools.function import agent_function
from parley_marketer.campaigns import AddNegativeKeywords, EditCampaignStatus
from parley_marketer.orders import IssueRefund
from parley_marketer.products import ChangeCustomLabel, DuplicateProducts, GetTopProducts
from parley_marketer.tasks import CreateTask

_MODEL: dict[str, Any] = {"provider": "scripted", "model": "demo"}


def agents() -> list[Agent]:
    """``general-assistant``, which a person talks to, and before it the two it can hand work to."""
    return [_product_manager(), _campaign_manager(), _general_assistant()]


def _general_assistant() -> Agent:
    return Agent(
        agent_id="general-assistant",
        name="General assistant",
        description="Answers questions about the shop and does what it is asked, after approval.",
        system_prompt=(
            "You are a helpful assistant for the marketing team of an online shop. "
            "Questions about how the shop works you answer from its knowledge base, naming the document."
        ),
        **_MODEL,
        propose_actions=True,
        predefined_messages=(
            PredefinedMessage(id="top-products", title="Best sellers", prompt="Show me the top 5 products"),
            PredefinedMessage(id="refund", title="Refund an order", prompt="Please refund my order"),
            PredefinedMessage(
                id="returns",
                title="Ask about returns",
                prompt="What is our policy for goods that arrive damaged?",
            ),
        ),
        knowledge=True,
        functions=(
            agent_function(GetTopProducts),
            agent_function(ChangeCustomLabel),
            agent_function(IssueRefund),
            agent_function(CreateTask),
            _manage_products(),
        ),
    )


def _manage_products() -> AgentFunction:
    request = {"type": "string", "description": "What the user wants done with products, in their words."}
    return AgentFunction(
        name="manageProducts",
        description="Hands work on products to the product manager.",
        parameters={"type": "object", "properties": {"user_request": request}, "required": ["user_request"]},
        implementation=SubagentFunction(
            subagent_id="product-manager", subagent_user_message="User wants to: {user_request}"
        ),
    )


def _product_manager() -> Agent:
    return Agent(
        agent_id="product-manager",
        name="Product manager",
        description="Finds, labels and copies products.",
        system_prompt="You manage an online shop's products. Do what is asked and say briefly what you did.",
        **_MODEL,
        functions=(
            agent_function(GetTopProducts),
            agent_function(ChangeCustomLabel),
            agent_function(DuplicateProducts),
        ),
    )


def _campaign_manager() -> Agent:
    return Agent(
        agent_id="campaign-manager",
        name="Campaign manager",
        description="Starts and pauses campaigns and keeps their keywords.",
        system_prompt="You manage the advertising campaigns of an online shop.",
        **_MODEL,
        functions=(agent_function(EditCampaignStatus), agent_function(AddNegativeKeywords)),
    )
