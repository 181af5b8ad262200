"""Predefined messages: their content is written by the model when their turn opens."""

from __future__ import annotations

from parley.domain.agents import Agent
from parley.domain.errors import ProviderError
from parley.prompts.build import merge_capabilities
from parley.prompts.predefined import predefined_prompt
from parley.turns.accepted import MESSAGE_LIMIT, AcceptedMessage
from parley.turns.model_call import write
from parley.turns.runtime import Runtime
from parley.turns.streaming import Interrupted
from parley.turns.task import Task, enter


def with_content(runtime: Runtime, task: Task, agent: Agent, accepted: AcceptedMessage) -> AcceptedMessage:
    """The message with its content. A model that fails or dawdles costs the wording, not the message: the prompt is
    sent then, and so it is when the turn is cancelled meanwhile. Raises StaleRun if another run took over.
    """
    if accepted.content is not None:
        return accepted
    predefined = agent.predefined_message(accepted.predefined_message or "")
    if predefined is None:
        return accepted.but(content=accepted.predefined_message or "")
    capabilities = merge_capabilities(
        runtime.providers.get(agent.provider).capabilities(), agent.capabilities
    )
    prompt = predefined_prompt(agent, capabilities, predefined.prompt)
    try:
        written = write(runtime, prompt, lambda: not enter(runtime, task).conversation.cancelled)
    except (ProviderError, Interrupted):
        written = ""
    return accepted.but(content=written[:MESSAGE_LIMIT] or predefined.prompt)
