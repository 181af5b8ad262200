"""Compose the provider-ready prompt of a model call from an agent and its thread's history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parley.domain.agents import Agent, Capabilities
from parley.domain.messages import Message
from parley.prompts.concatenated import concatenated_prompt
from parley.prompts.history import exchanges
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.prompts.system_prompt import compose_system_prompt
from parley.prompts.window import window
from parley.prompts.xml_tools import as_text, tool_instructions

FINAL_ANSWER = "No more functions can be called in this turn. Give your final answer now, from what is known."
FIRST_TURN = 1
EARLIER = "Summary of the earlier conversation:"


def build_prompt(  # noqa: PLR0913 - each is a part that a prompt has or has not
    agent: Agent,
    capabilities: Capabilities,
    history: Sequence[Message],
    *,
    summary: str = "",
    file_tree: str = "",
    context: Sequence[str] = (),
    system_prompt: str | None = None,
    tools: Sequence[ToolSpec] | None = None,
    final: bool = False,
) -> Prompt:
    """The prompt for the agent's next reply; pure, so the same input gives the same prompt.

    ``history``: stored messages in order, the current turn's last. ``capabilities``: the provider's own;
    the agent's overrides are merged here. ``summary``: of the earlier conversation, used if the window does
    not reach back to the thread's first turn.
    ``system_prompt`` and ``tools`` replace the agent's. ``final``: ask for an answer without tools.
    """
    abilities = merge_capabilities(capabilities, agent.capabilities)
    offered = () if final else tuple(agent_tools(agent) if tools is None else tools)
    native = abilities.supports_tool_calls and abilities.supports_conversation
    kept = window(exchanges(history), agent.history_window, max_tokens=abilities.max_context_length)
    messages: list[PromptMessage] = [message for exchange in kept for message in exchange.messages]
    forgotten = bool(kept) and kept[0].turn > FIRST_TURN
    earlier = f"{EARLIER}\n{summary.strip()}" if forgotten and summary.strip() else ""
    system = compose_system_prompt(
        base=agent.system_prompt if system_prompt is None else system_prompt,
        file_tree=file_tree,
        tools="" if native else tool_instructions(offered),
        context=[*context, earlier, FINAL_ANSWER if final else ""],
    )
    calls_seen = any(message.tool_calls for message in messages)
    if not native:
        messages = as_text(messages)
    return Prompt(
        provider=agent.provider,
        model=agent.model,
        capabilities=abilities,
        system=system,
        messages=tuple(messages),
        text=None if abilities.supports_conversation else concatenated_prompt(system, messages),
        tools=offered if native else (),
        xml_tools=not native and bool(offered or agent.functions or calls_seen),
        settings={name: value for name, value in agent.settings.items() if value is not None},
    )


def merge_capabilities(provider: Capabilities, overrides: dict[str, Any]) -> Capabilities:
    """The provider's capabilities with an agent's overrides; unknown names are ignored.

    Native calls need a conversation, so an override that claims them alone claims it too.
    """
    implied = {"supports_conversation": True} if overrides.get("supports_tool_calls") else {}
    return Capabilities.model_validate({**provider.model_dump(), **implied, **overrides})


def agent_tools(agent: Agent) -> list[ToolSpec]:
    """What the agent's functions look like to a model."""
    return [
        ToolSpec(
            name=function.name, description=function.description or "", parameters=function.parameters or {}
        )
        for function in agent.functions
    ]
