"""What a model is asked beside a conversation: one question, no functions, no history but what it quotes."""

from __future__ import annotations

from typing import Any

from parley.domain.agents import Agent, Capabilities
from parley.prompts.concatenated import concatenated_prompt
from parley.prompts.prompt import Prompt, PromptMessage, Purpose


def aside(
    agent: Agent,
    capabilities: Capabilities,
    purpose: Purpose,
    *,
    system: str,
    question: str,
    schema: dict[str, Any] | None = None,
) -> Prompt:
    """The prompt, in the form that the agent's model takes. ``schema`` is left out where it cannot be kept to."""
    message = PromptMessage(role="user", content=question)
    whole = None if capabilities.supports_conversation else concatenated_prompt(system, [message])
    return Prompt(
        provider=agent.provider,
        model=agent.model,
        capabilities=capabilities,
        system=system,
        messages=(message,),
        text=whole,
        purpose=purpose,
        response_schema=schema if capabilities.supports_structured_output else None,
        settings={name: value for name, value in agent.settings.items() if value is not None},
    )
