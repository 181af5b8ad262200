"""OpenAI's Responses API, used without its memory: what is sent. How a reply is read: ``openai_responses_reply``.

``POST {base}/responses`` with ``store: false``: each request carries the conversation as a flat list of items
(messages, calls, results). Reasoning comes back encrypted and is sent again where it stood: a call or message
that was reasoned about is refused by some models without it, and reasoning with nothing behind it by all.
Source: requests recorded from the official SDK and https://platform.openai.com/docs/guides/reasoning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parley.domain.errors import ProviderError
from parley.domain.messages import ToolCall
from parley.prompts.prompt import Prompt, ToolSpec
from parley.providers.wire import openai_chat
from parley.providers.wire.block_order import blocks_of
from parley.providers.wire.call_ids import with_sent_ids
from parley.providers.wire.openai_responses_reply import decode_stream
from parley.providers.wire.shapes import as_object
from parley.providers.wire.tool_choice import ToolChoice, tool_choice

__all__ = ["decode_error", "decode_stream", "encode", "path"]

SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "include": "include",
    "reasoning": "reasoning",
    "text": "text",
    "truncation": "truncation",
    "prompt_cache_key": "prompt_cache_key",
    "service_tier": "service_tier",
    "parallel_tool_calls": "parallel_tool_calls",
    "user": "user",
}
"""An agent's setting → its field. Chat's ``stop``, ``seed`` and penalties have none here and are not sent."""

INCLUDE = ["reasoning.encrypted_content"]
_DOES_NOT_REASON = re.compile(r"(?:ft:)?(?:gpt-3|gpt-4|chatgpt-|gpt-5-chat)")
"""Families that answer 400 when they are asked for reasoning. A later one says it with the setting ``include``."""
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_REASONING = "Encrypted content is not supported"
_HINT = 'put "include": [] into the agent\'s settings for a model that does not reason'


def path(prompt: Prompt) -> str:
    """The same for every model."""
    return "/responses"


def encode(prompt: Prompt) -> dict[str, Any]:
    """The request body. A setting is sent only if it is set; ``extra_body`` in the settings is merged in."""
    body: dict[str, Any] = {
        "model": prompt.model,
        "stream": True,
        "store": False,
        "input": _input(prompt),
    }
    if not _DOES_NOT_REASON.match(prompt.model):
        body["include"] = INCLUDE
    if prompt.text is None and prompt.system and prompt.capabilities.supports_system_messages:
        body["instructions"] = prompt.system
    tools = prompt.tools if prompt.capabilities.supports_tool_calls else ()
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
        if choice := _tool_choice(tool_choice(prompt.settings.get("tool_choice"))):
            body["tool_choice"] = choice
    for name, field in SETTINGS.items():
        value = prompt.settings.get(name)
        if value is not None and (tools or name != "parallel_tool_calls"):
            body[field] = value
    body |= _nested(prompt)
    extra = prompt.settings.get("extra_body")
    return body | extra if isinstance(extra, dict) else body


def _tool(tool: ToolSpec) -> dict[str, Any]:
    """Flat, and not strict: the default would refuse schemas that leave an argument to choice."""
    return (
        {"type": "function", "name": tool.name}
        | ({"description": tool.description} if tool.description else {})
        | {"parameters": tool.parameters or {"type": "object", "properties": {}}, "strict": False}
    )


def _tool_choice(choice: ToolChoice | None) -> str | dict[str, str] | None:
    match choice:
        case None:
            return None
        case ToolChoice(kind="tool", name=name):
            return {"type": "function", "name": name}
        case ToolChoice(kind=kind):
            return "required" if kind == "any" else kind


def _nested(prompt: Prompt) -> dict[str, Any]:
    """Chat's flat settings in the objects where they live here; those objects' own settings win, and before all a
    schema that the reply has to follow.
    """
    settings = prompt.settings
    reasoning, text = as_object(settings.get("reasoning")), as_object(settings.get("text"))
    if (effort := settings.get("reasoning_effort")) is not None:
        reasoning = {"effort": effort} | reasoning
    if (verbosity := settings.get("verbosity")) is not None:
        text = {"verbosity": verbosity} | text
    if wanted := as_object(settings.get("response_format")):
        schema = as_object(wanted.get("json_schema"))
        text = {"format": {"type": wanted.get("type")} | schema} | text
    if prompt.response_schema is not None:
        named = {"name": openai_chat.SCHEMA_NAME, "strict": True, "schema": prompt.response_schema}
        text = text | {"format": {"type": "json_schema"} | named}
    return ({"reasoning": reasoning} if reasoning else {}) | ({"text": text} if text else {})


def _input(prompt: Prompt) -> list[dict[str, Any]]:
    if prompt.text is not None:
        return [{"role": "user", "content": prompt.text}]
    items: list[dict[str, Any]] = []
    if prompt.system and (not prompt.capabilities.supports_system_messages or not prompt.messages):
        items.append({"role": "user", "content": prompt.system})
    for message in with_sent_ids(prompt, _ACCEPTED_ID):
        match message.role:
            case "user":
                items.append({"role": "user", "content": message.content})
            case "tool":
                items.append(
                    {
                        "type": "function_call_output",
                        "call_id": message.tool_call_id,
                        "output": message.content,
                    }
                )
            case "assistant":
                items += _assistant(blocks_of(message, prompt.own_data(message)))
    return items


def _assistant(blocks: Sequence[str | ToolCall | dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A reply's items. ``{"phase"}`` among the blocks is of the text behind it."""
    phase: dict[str, Any] = {}
    for place, block in enumerate(blocks):
        if isinstance(block, str):
            yield {"role": "assistant", "content": block} | phase
            phase = {}
        elif isinstance(block, ToolCall):
            yield _call(block)
        elif "phase" in block:
            phase = block
        elif block.get("type") == "reasoning" and _has_follower(blocks[place:]):
            yield block


def _has_follower(blocks: Sequence[object]) -> bool:
    """Reasoning is refused where no text or call of the same reply comes behind it."""
    return any(isinstance(block, str | ToolCall) for block in blocks)


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
    return {
        "type": "function_call",
        "call_id": call.tool_call_id,
        "name": openai_chat.function_name(call.name),
        "arguments": arguments,
    }


def decode_error(status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """Chat's errors, and what to do about the one that a first try with an older model meets."""
    error = openai_chat.decode_error(status, headers, body)
    if _NO_REASONING in error.message:
        error.message = f"{error.message} ({_HINT})"
    return error
