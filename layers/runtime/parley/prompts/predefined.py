"""The prompt that lets a model write the content of a predefined message."""

from __future__ import annotations

from parley.domain.agents import Agent, Capabilities
from parley.prompts.aside import aside
from parley.prompts.prompt import Prompt

INSTRUCTION = (
    "Write the message that the user sends to the assistant described below, in the user's own voice. "
    "Answer with that message alone."
)


def predefined_prompt(agent: Agent, capabilities: Capabilities, wish: str) -> Prompt:
    """``wish`` is the predefined message's own prompt, such as "Ask for last week's best sellers"."""
    system = f"{INSTRUCTION}\n\nThe assistant: {agent.system_prompt}"
    return aside(agent, capabilities, "predefined", system=system, question=wish)
