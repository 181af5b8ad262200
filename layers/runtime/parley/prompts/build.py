"""Compose the provider-ready prompt of a model call from an agent and its thread's history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from parley.domain.agents import Agent, Capabilities
from parley.domain.messages import Message
from parley.domain.summary import rolled
from parley.prompts.concatenated import concatenated_prompt
from parley.prompts.fit import first_that_fits
from parley.prompts.history import Exchange, exchanges
from parley.prompts.prompt import MessageForm, Prompt, PromptMessage, ToolSpec
from parley.prompts.system_prompt import compose_system_prompt
from parley.prompts.window import window
from parley.prompts.xml_tools import as_text, tool_instructions

FINAL_ANSWER = "No more functions can be called in this turn. Give your final answer now, from what is known."
EARLIER = "Summary of the earlier conversation:"


@dataclass(frozen=True, slots=True)
class _Parts:
    """What of a prompt stays the same, however much of the conversation it shows."""

    agent: Agent
    capabilities: Capabilities
    system_prompt: str
    context: Sequence[str]
    offered: tuple[ToolSpec, ...]
    final: bool
    form: MessageForm

    @property
    def native(self) -> bool:
        """Whether functions are offered and called in the provider's own way."""
        able = self.capabilities.supports_tool_calls and self.capabilities.supports_conversation
        return able and self.form == "messages" and self.agent.tool_form == "native"

    def prompt(self, kept: Sequence[Exchange], *, summary: str, file_tree: str) -> Prompt:
        """The prompt with these exchanges."""
        messages: list[PromptMessage] = [message for exchange in kept for message in exchange.messages]
        earlier = f"{EARLIER}\n{summary}" if summary else ""
        system = compose_system_prompt(
            base=self.system_prompt,
            file_tree=file_tree,
            tools="" if self.native else tool_instructions(self.offered),
            context=[*self.context, earlier, FINAL_ANSWER if self.final else ""],
        )
        calls_seen = any(message.tool_calls for message in messages)
        if not self.native:
            messages = as_text(messages)
        whole = self.form == "concatenated" or not self.capabilities.supports_conversation
        agent = self.agent
        return Prompt(
            provider=agent.provider,
            model=agent.model,
            capabilities=self.capabilities,
            system=system,
            messages=tuple(messages),
            text=concatenated_prompt(system, messages) if whole else None,
            tools=self.offered if self.native else (),
            xml_tools=not self.native and bool(self.offered or agent.functions or calls_seen),
            settings={name: value for name, value in agent.settings.items() if value is not None},
        )


def build_prompt(  # noqa: PLR0913 - each is a part that a prompt has or has not
    agent: Agent,
    capabilities: Capabilities,
    history: Sequence[Message],
    *,
    file_tree: str = "",
    context: Sequence[str] = (),
    system_prompt: str | None = None,
    tools: Sequence[ToolSpec] | None = None,
    final: bool = False,
    form: MessageForm = "messages",
) -> Prompt:
    """The prompt for the agent's next reply; pure, so the same input gives the same prompt.

    ``history``: stored messages in order, the current turn's last; what of it the prompt does not show is
    summed up. ``capabilities``: the provider's own; the agent's overrides are merged here.
    ``system_prompt`` and ``tools`` replace the agent's. ``final``: ask for an answer without tools.
    ``form``: "concatenated" puts the whole conversation into one text, whatever the model could take.
    Raises ProviderRejectedRequest if what has to be said exceeds the model's context.
    """
    offered = () if final else tuple(agent_tools(agent) if tools is None else tools)
    parts = _Parts(
        agent=agent,
        capabilities=merge_capabilities(capabilities, agent.capabilities),
        system_prompt=agent.system_prompt if system_prompt is None else system_prompt,
        context=context,
        offered=offered,
        final=final,
        form=form,
    )
    found = exchanges(history)
    kept = window(found, agent.history_window)
    summary = _summed_up("", found[: len(found) - len(kept)])
    candidates = _shorter_and_shorter(parts, kept, summary, file_tree)
    return first_that_fits(candidates, parts.capabilities.max_context_length)


def _shorter_and_shorter(
    parts: _Parts, kept: Sequence[Exchange], summary: str, file_tree: str
) -> Iterator[Prompt]:
    """What is given up for a small context: the oldest exchanges one by one, then the file tree, then the summary.

    Never what belongs to the current turn. An exchange that is given up goes into the summary; without that,
    some have room again.
    """
    current = max(len(kept) - 1, 0)
    for start in range(current + 1):
        summary = _summed_up(summary, kept[start - 1 : start] if start else ())
        yield parts.prompt(kept[start:], summary=summary, file_tree=file_tree)
    if file_tree:
        yield parts.prompt(kept[current:], summary=summary, file_tree="")
    if summary:
        for start in range(current + 1):
            yield parts.prompt(kept[start:], summary="", file_tree="")


def _summed_up(summary: str, forgotten: Sequence[Exchange]) -> str:
    """The summary with the answered ones of these exchanges."""
    for exchange in forgotten:
        asked, reply = exchange.messages[0], exchange.messages[-1]
        if reply.role == "assistant" and reply.content.strip():
            summary = rolled(summary, asked.content, reply.content)
    return summary


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
