"""Prompts for the scripted provider, and what came of them."""

from typing import Any

import parley_marketer
from parley.domain.agents import Agent, Capabilities
from parley.domain.messages import Message, MessageKind, ToolCall
from parley.prompts.build import agent_tools
from parley.prompts.prompt import Prompt, PromptMessage
from parley.prompts.suggestions import read_suggestions, suggestions_prompt
from parley.providers.scripted import ScriptedProvider
from tests.support.replies import Reply, collect

AGENTS = {agent.agent_id: agent for agent in parley_marketer.agents()}
AGENT = AGENTS["general-assistant"]


def said(text: str) -> PromptMessage:
    return PromptMessage(role="user", content=text)


def answered(text: str) -> PromptMessage:
    return PromptMessage(role="assistant", content=text)


def used(name: str, result: str, *, ok: bool = True, **arguments: Any) -> tuple[PromptMessage, PromptMessage]:
    call = ToolCall(tool_call_id="call_1", name=name, arguments=arguments)
    result_message = PromptMessage(role="tool", content=result, tool_call_id="call_1", name=name, ok=ok)
    return PromptMessage(role="assistant", tool_calls=(call,)), result_message


def prompt(
    *messages: PromptMessage | str,
    agent: str = "general-assistant",
    system: str = "",
    tools: bool = True,
    **settings: Any,
) -> Prompt:
    chosen: Agent = AGENTS[agent]
    return Prompt(
        provider="scripted",
        model="demo",
        system=system,
        messages=tuple(said(message) if isinstance(message, str) else message for message in messages),
        tools=tuple(agent_tools(chosen)) if tools else (),
        settings=settings,
    )


def reply_to(prompt: Prompt) -> Reply:
    return collect(ScriptedProvider(never).stream(prompt))


def never(seconds: float) -> None:
    raise AssertionError("no delay was asked for")


def calls(reply: Reply) -> list[tuple[str, Any]]:
    return list(zip(reply.names, reply.arguments, strict=True))


def suggested(agent: Agent, *turn: tuple[str, str]) -> Reply:
    """The answer to a prompt for suggestions after these words of a turn: who said what."""
    kinds = {"user": MessageKind.USER_MESSAGE, "assistant": MessageKind.ASSISTANT_MESSAGE}
    talk = [
        Message.model_validate(
            {"id": "m", "kind": kinds[role], "role": role, "content": content, "timestamp": 0.0, "turn": 1}
        )
        for role, content in turn
    ]
    return reply_to(suggestions_prompt(agent, Capabilities(), talk))


def labels(reply: Reply) -> list[str]:
    return [action.label for action in read_suggestions(reply.text)]
