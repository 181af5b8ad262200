"""What Amazon Bedrock is asked: the arguments of boto3's ``converse_stream``.

Source: requests recorded from boto3, its service model, and
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html. One form for all of
Bedrock's models; what it demands here is what the strictest of them do. Replies: ``bedrock_converse``.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from parley.domain.messages import ToolCall
from parley.prompts.concatenated import stop_sequences
from parley.prompts.prompt import Prompt, PromptMessage
from parley.prompts.xml_tools import as_text
from parley.providers.wire.block_order import blocks_of
from parley.providers.wire.shapes import as_object
from parley.providers.wire.tool_choice import tool_choice
from parley.providers.wire.turn_taking import Turn, turns_of

_INFERENCE = {
    "maxTokens": ("max_tokens", "max_completion_tokens"),
    "temperature": ("temperature",),
    "topP": ("top_p",),
    "stopSequences": ("stop_sequences", "stop"),
}
_ARGUMENTS = {
    "guardrailConfig": "guardrail_config",
    "performanceConfig": "performance_config",
    "serviceTier": "service_tier",
    "requestMetadata": "request_metadata",
}
_SENT_BACK = {"text", "toolUse", "reasoningContent"}
MOST_STOPS = 4
"""Stop sequences that every model takes."""
_IDS = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


def encode(prompt: Prompt) -> dict[str, Any]:
    """The arguments. A setting is sent only if it is set.

    ``thinking`` and what is in ``extra_body`` go to the model itself, as ``additionalModelRequestFields``.
    """
    prompt = _without_stray_calls(prompt)
    messages = [
        {"role": turn.role, "content": _content(turn, prompt)}
        for turn in turns_of(prompt, _IDS, results_apart=True)
    ]
    request: dict[str, Any] = {"modelId": prompt.model, "messages": messages}
    if prompt.text is None and prompt.system.strip() and prompt.capabilities.supports_system_messages:
        request["system"] = [{"text": prompt.system}]
    if inference := _inference(prompt):
        request["inferenceConfig"] = inference
    if tools := _tools(prompt):
        request["toolConfig"] = tools
    if fields := _model_fields(prompt.settings, messages):
        request["additionalModelRequestFields"] = fields
    for name, setting in _ARGUMENTS.items():
        if isinstance(prompt.settings.get(setting), dict):
            request[name] = prompt.settings[setting]
    if prompt.response_schema is not None:
        named = {"name": "answer", "schema": json.dumps(prompt.response_schema)}
        request["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": named}}}
    return request


def _without_stray_calls(prompt: Prompt) -> Prompt:
    """Where no functions are offered, earlier calls become text: Bedrock takes none without a ``toolConfig``,
    and has no way to offer functions that must not be called.
    """
    if _offered(prompt) or not any(message.tool_calls for message in prompt.messages):
        return prompt
    plain = tuple(message.but(provider_data={}) for message in as_text(prompt.messages))
    return prompt.but(messages=plain)


def _offered(prompt: Prompt) -> bool:
    choice = tool_choice(prompt.settings.get("tool_choice"))
    forbidden = choice is not None and choice.kind == "none"
    return bool(prompt.tools) and prompt.capabilities.supports_tool_calls and not forbidden


def _content(turn: Turn, prompt: Prompt) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for message in turn.messages:
        if message.role == "assistant":
            found = map(_block, blocks_of(message, prompt.own_data(message)))
            blocks += [block for block in found if block.keys() <= _SENT_BACK]
        elif message.role == "tool":
            blocks.append(_result(message))
        else:
            blocks.append({"text": message.content})
    return blocks


def _block(block: str | ToolCall | dict[str, Any]) -> dict[str, Any]:
    match block:
        case str():
            return {"text": block}
        case ToolCall():
            name = _NOT_IN_NAMES.sub("_", block.name)[:_LONGEST_NAME] or "unnamed"
            return {"toolUse": {"toolUseId": block.tool_call_id, "name": name, "input": block.arguments}}
        case {"reasoningContent": {"redactedContent": str(encoded)}}:
            return {"reasoningContent": {"redactedContent": base64.b64decode(encoded)}}
        case dict():
            return block


def _result(message: PromptMessage) -> dict[str, Any]:
    return {
        "toolResult": {
            "toolUseId": message.tool_call_id,
            "content": [{"text": message.content}],
            "status": "success" if message.ok else "error",
        }
    }


def _inference(prompt: Prompt) -> dict[str, Any]:
    settings = prompt.settings
    if prompt.text is not None:
        settings = {**settings, "stop_sequences": stop_sequences(prompt, MOST_STOPS)}
    found: dict[str, Any] = {}
    for field, names in _INFERENCE.items():
        value = next((settings[name] for name in names if settings.get(name) is not None), None)
        if field == "stopSequences":
            value = [stop for stop in ([value] if isinstance(value, str) else value or []) if stop] or None
        if value is not None:
            found[field] = value
    return found


def _tools(prompt: Prompt) -> dict[str, Any] | None:
    if not _offered(prompt):
        return None
    specs = [
        {
            "toolSpec": {"name": tool.name}
            | ({"description": tool.description} if tool.description.strip() else {})
            | {"inputSchema": {"json": {"type": "object", **(tool.parameters or _NO_ARGUMENTS)}}}
        }
        for tool in prompt.tools
    ]
    choice = tool_choice(prompt.settings.get("tool_choice"))
    if choice is None:
        return {"tools": specs}
    wanted = {"tool": {"name": choice.name}} if choice.kind == "tool" else {choice.kind: {}}
    return {"tools": specs, "toolChoice": wanted}


def _model_fields(settings: dict[str, Any], messages: list[dict[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    thinking = as_object(settings.get("thinking"))
    if thinking and (thinking.get("type") != "enabled" or _may_think(messages)):
        fields["thinking"] = thinking
    return fields | as_object(settings.get("extra_body"))


def _may_think(messages: list[dict[str, Any]]) -> bool:
    """Whether the calls that are being answered began with a thought: with thinking on, Claude demands it."""
    if len(messages) < 2 or "toolResult" not in messages[-1]["content"][0]:
        return True
    return "reasoningContent" in messages[-2]["content"][0]
