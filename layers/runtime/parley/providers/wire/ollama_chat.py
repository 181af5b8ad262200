"""Ollama's conversation: ``POST {base}/api/chat``, answered with one JSON object per line.

Each has a piece of ``message``; the last has ``done``. Calls come whole, their arguments as an object, and have
no ids that a result could name: results follow their calls in order, with the function's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from parley.domain.errors import StreamCut
from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.wire.chat_turns import chat_messages
from parley.providers.wire.ndjson import decode_objects
from parley.providers.wire.ollama_common import check, decode_error, settings_of, usage_of
from parley.providers.wire.shapes import as_list, as_object
from parley.turns.model_ports import Delta, Finish, TextDelta, ToolArgumentsDelta, ToolCallStart

__all__ = ["decode_error", "decode_stream", "encode", "path"]

_ANY = re.compile(r".*", re.DOTALL)
UNNAMED = "unnamed"
"""Stands for a name that a history has not."""


def path(prompt: Prompt) -> str:
    """The same for every model."""
    return "/api/chat"


def encode(prompt: Prompt) -> dict[str, Any]:
    """The request body; see ``ollama_common`` for the settings."""
    body: dict[str, Any] = {"model": prompt.model, "stream": True, "messages": _messages(prompt)}
    if prompt.tools and prompt.capabilities.supports_tool_calls:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name}
                | ({"description": tool.description} if tool.description else {})
                | {"parameters": tool.parameters or {"type": "object", "properties": {}}},
            }
            for tool in prompt.tools
        ]
    stop = prompt.settings.get("stop")
    return body | settings_of(prompt, [stop] if isinstance(stop, str) else as_list(stop))


def _messages(prompt: Prompt) -> list[dict[str, Any]]:
    messages = [_message(message) for message in chat_messages(prompt, _ANY)]
    if prompt.text is None and prompt.system and prompt.capabilities.supports_system_messages:
        messages.insert(0, {"role": "system", "content": prompt.system})
    return messages


def _message(message: PromptMessage) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "content": message.content, "tool_name": message.name or UNNAMED}
    sent: dict[str, Any] = {"role": message.role}
    if message.content.strip() or not message.tool_calls:
        sent["content"] = message.content
    if message.tool_calls:
        sent["tool_calls"] = [
            {"function": {"name": call.name or UNNAMED, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    return sent


def decode_stream(lines: Iterable[str]) -> Iterator[Delta]:
    """Objects to deltas. What a model thinks is left out."""
    calls = 0
    for chunk in decode_objects(lines):
        check(chunk)
        message = as_object(chunk.get("message"))
        if isinstance(message.get("content"), str) and message["content"]:
            yield TextDelta(message["content"])
        for call in as_list(message.get("tool_calls")):
            yield from _call(calls, call)
            calls += 1
        if chunk.get("done"):
            reason = "length" if chunk.get("done_reason") == "length" else "tool_calls" if calls else "stop"
            yield Finish(reason, usage_of(chunk))
            return
    raise StreamCut("the stream ended without its last object")


def _call(index: int, call: Any) -> Iterator[Delta]:
    function = as_object(as_object(call).get("function"))
    name, arguments = function.get("name"), function.get("arguments")
    if not (isinstance(name, str) and name):
        raise StreamCut("the provider sent a tool call without a name")
    provider_id = as_object(call).get("id")
    yield ToolCallStart(index, name, provider_id if isinstance(provider_id, str) and provider_id else None)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    if arguments is not None and text:
        yield ToolArgumentsDelta(index, text)
