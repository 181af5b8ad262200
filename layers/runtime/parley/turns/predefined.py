"""Predefined messages: their content is written by the model when their turn opens."""

from __future__ import annotations

from parley.domain.agents import Agent
from parley.domain.errors import ProviderError
from parley.prompts.build import merge_capabilities
from parley.prompts.predefined import predefined_prompt
from parley.turns.accepted import AcceptedMessage
from parley.turns.model_ports import TextDelta
from parley.turns.runtime import Runtime


def with_content(runtime: Runtime, agent: Agent, accepted: AcceptedMessage) -> AcceptedMessage:
    """The message with its content. A model that fails costs the wording, not the message: the prompt is sent then."""
    if accepted.content is not None:
        return accepted
    predefined = agent.predefined_message(accepted.predefined_message or "")
    if predefined is None:
        return accepted.but(content=accepted.predefined_message or "")
    try:
        written = _written(runtime, agent, predefined.prompt)
    except ProviderError:
        written = ""
    return accepted.but(content=written or predefined.prompt)


def _written(runtime: Runtime, agent: Agent, wish: str) -> str:
    provider = runtime.providers.get(agent.provider)
    capabilities = merge_capabilities(provider.capabilities(), agent.capabilities)
    stream = provider.stream(predefined_prompt(agent, capabilities, wish))
    return "".join(delta.text for delta in stream if isinstance(delta, TextDelta)).strip()
