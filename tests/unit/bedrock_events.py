"""Prompts for Bedrock, and events of its streams."""

from typing import Any

from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.wire.bedrock_converse import decode_events
from tests.support.replies import Reply, collect

TOOL = ToolSpec(name="get_weather")


def user(text: str = "Hi") -> PromptMessage:
    return PromptMessage(role="user", content=text)


def prompt(*messages: PromptMessage, **changes: Any) -> Prompt:
    values = {"provider": "bedrock", "model": "m", "messages": messages or (user(),), "tools": (TOOL,)}
    return Prompt(**(values | changes))


def part(index: int, **content: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": content}}


def begin(index: int, **call: Any) -> dict[str, Any]:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": call}}}


def stop(index: int) -> dict[str, Any]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def ends(reason: str = "end_turn") -> dict[str, Any]:
    return {"messageStop": {"stopReason": reason}}


def read(*events: dict[str, Any]) -> Reply:
    return collect(decode_events(events))
