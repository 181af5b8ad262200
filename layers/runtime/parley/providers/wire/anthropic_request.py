"""What a request of Anthropic's Messages API looks like.

``POST {base}/v1/messages`` with ``stream: true``. Source: requests recorded from the official SDK and
https://docs.claude.com/en/api/messages. The reply is ``anthropic``'s business.

Sampling settings (temperature, top_p, top_k) are not sent: API version 2026-10-21 answers them with 400, even
at their default values. ``extra_body`` still carries them for those who choose an older version.
"""

from __future__ import annotations

import re
from typing import Any

from parley.domain.messages import ToolCall
from parley.prompts.concatenated import stop_sequences
from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.wire.block_order import blocks_of
from parley.providers.wire.shapes import as_count, as_object
from parley.providers.wire.tool_choice import tool_choice
from parley.providers.wire.turn_taking import Turn, turns_of

DEFAULT_MAX_TOKENS = 8192
"""The API demands a limit. This one suits an answer; a thinking budget comes on top."""
SETTINGS = ("thinking", "output_config", "metadata", "service_tier", "cache_control")
_SENT_BACK = {"text", "tool_use", "thinking", "redacted_thinking"}
_IDS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


def path(prompt: Prompt) -> str:
    """The same for every model."""
    return "/v1/messages"


def encode(prompt: Prompt) -> dict[str, Any]:
    """The request body. A setting is sent only if it is set; ``extra_body`` in the settings is merged in."""
    messages = _messages(prompt)
    settings = prompt.settings
    body: dict[str, Any] = {
        "model": prompt.model,
        "max_tokens": _max_tokens(settings),
        "messages": messages,
        "stream": True,
    }
    if prompt.text is None and prompt.system.strip() and prompt.capabilities.supports_system_messages:
        body["system"] = prompt.system
    body |= {name: settings[name] for name in SETTINGS if settings.get(name) is not None}
    if as_object(body.get("thinking")).get("type") == "enabled" and not _may_think(messages):
        del body["thinking"]
    if prompt.response_schema is not None:
        wanted = {"format": {"type": "json_schema", "schema": prompt.response_schema}}
        body["output_config"] = as_object(body.get("output_config")) | wanted
    if stops := _stop_sequences(prompt):
        body["stop_sequences"] = stops
    body |= _tools(prompt, messages)
    extra = settings.get("extra_body")
    return body | extra if isinstance(extra, dict) else body


def _max_tokens(settings: dict[str, Any]) -> Any:
    for name in ("max_tokens", "max_completion_tokens"):
        if settings.get(name) is not None:
            return settings[name]
    return DEFAULT_MAX_TOKENS + as_count(as_object(settings.get("thinking")).get("budget_tokens"))


def _stop_sequences(prompt: Prompt) -> list[str]:
    """The agent's, and where the conversation is one text, the cues of the next speaker. Blank ones are refused."""
    stops = prompt.settings.get("stop_sequences") or prompt.settings.get("stop") or []
    if prompt.text is not None:
        stops = stop_sequences(prompt)
    return [stop for stop in ([stops] if isinstance(stops, str) else stops) if str(stop).strip()]


def _messages(prompt: Prompt) -> list[dict[str, Any]]:
    return [{"role": turn.role, "content": _content(turn, prompt)} for turn in turns_of(prompt, _IDS)]


def _content(turn: Turn, prompt: Prompt) -> str | list[dict[str, Any]]:
    """Blocks, or plain text where that is all there is."""
    blocks: list[dict[str, Any]] = []
    for message in turn.messages:
        if message.role == "assistant":
            found = map(_block, blocks_of(message, prompt.own_data(message)))
            blocks += [block for block in found if block["type"] in _SENT_BACK]
        elif message.role == "tool":
            blocks.append(_result(message))
        else:
            blocks.append({"type": "text", "text": message.content})
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else blocks


def _block(block: str | ToolCall | dict[str, Any]) -> dict[str, Any]:
    match block:
        case str():
            return {"type": "text", "text": block}
        case ToolCall():
            return {
                "type": "tool_use",
                "id": block.tool_call_id,
                "name": _name(block.name),
                "input": block.arguments,
            }
        case dict():
            return {"type": "", **block}


def _result(message: PromptMessage) -> dict[str, Any]:
    result = {
        "type": "tool_result",
        "tool_use_id": message.tool_call_id,
        "content": message.content,
    }
    return result if message.ok else {**result, "is_error": True}


def _name(name: str) -> str:
    """A model may have called what no agent could offer, or another provider allowed other names."""
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def _may_think(messages: list[dict[str, Any]]) -> bool:
    """Whether the calls that are being answered began with a thought.

    With thinking on the API demands it, and calls that another model made have none.
    """
    if len(messages) < 2 or not _types(messages[-1]["content"]) & {"tool_result"}:
        return True
    return bool(_types(messages[-2]["content"][:1]) & {"thinking", "redacted_thinking"})


def _types(content: str | list[dict[str, Any]]) -> set[str]:
    return {"text"} if isinstance(content, str) else {block["type"] for block in content}


def _tools(prompt: Prompt, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """What may be called. A history with calls needs tools too, even where none may be called any more."""
    offered = prompt.tools if prompt.capabilities.supports_tool_calls else ()
    if not offered:
        called = {
            block["name"]: None
            for message in messages
            if not isinstance(message["content"], str)
            for block in message["content"]
            if block["type"] == "tool_use"
        }
        stand_ins = [{"name": name, "input_schema": _NO_ARGUMENTS} for name in called]
        return {"tools": stand_ins, "tool_choice": {"type": "none"}} if called else {}
    tools = [
        {"name": tool.name}
        | ({"description": tool.description} if tool.description else {})
        | {"input_schema": {"type": "object", **(tool.parameters or _NO_ARGUMENTS)}}
        for tool in offered
    ]
    choice = _choice(prompt.settings)
    return {"tools": tools, "tool_choice": choice} if choice else {"tools": tools}


def _choice(settings: dict[str, Any]) -> dict[str, Any] | None:
    wanted = tool_choice(settings.get("tool_choice"))
    one_at_a_time = settings.get("parallel_tool_calls") is False
    if wanted is None and not one_at_a_time:
        return None
    kind = wanted.kind if wanted else "auto"
    named = {"name": wanted.name} if wanted and wanted.kind == "tool" else {}
    single = {"disable_parallel_tool_use": True} if one_at_a_time and kind != "none" else {}
    return {"type": kind, **named, **single}
