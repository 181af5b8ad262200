"""The prompt that lets a model write the content of a predefined message."""

from __future__ import annotations

from parley.domain.agents import Agent, Capabilities
from parley.prompts.prompt import Prompt, PromptMessage

INSTRUCTION = (
    "Write the message that the user sends to the assistant described below, in the user's own voice. "
    "Answer with that message alone."
)
"""How the system prompt begins."""


def predefined_prompt(agent: Agent, capabilities: Capabilities, wish: str) -> Prompt:
    """``wish`` is the predefined message's own prompt, such as "Ask for last week's best sellers"."""
    system = f"{INSTRUCTION}\n\nThe assistant: {agent.system_prompt}"
    plain = not capabilities.supports_conversation
    return Prompt(
        provider=agent.provider,
        model=agent.model,
        capabilities=capabilities,
        system=system,
        messages=(PromptMessage(role="user", content=wish),),
        text=f"System: {system}\n\nHuman: {wish}\n\nAssistant:" if plain else None,
        settings={key: value for key, value in agent.settings.items() if key != "script"},
    )
