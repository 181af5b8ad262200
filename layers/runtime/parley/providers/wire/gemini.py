"""Google's Gemini: what is sent. How a reply is read is in ``gemini_reply``.

``POST {base}/models/{model}:streamGenerateContent?alt=sse`` with ``contents`` of the roles user and model,
which alternate. A call is a ``functionCall`` part, its result a ``functionResponse`` part of the next user
content. Source: requests recorded from the official SDK and https://ai.google.dev/api/generate-content.

Two things come back to the model as it sent them: the thought signature of a call, on that call's part, and
the one of a text, on that stretch of the text (https://ai.google.dev/gemini-api/docs/thought-signatures).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from parley.domain.errors import ProviderError
from parley.domain.json_text import read_json
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.wire.gemini_reply import (
    CALL_SIGNATURE,
    TEXT_SIGNATURES,
    decode_stream,
    error_of,
)
from parley.providers.wire.shapes import as_list
from parley.providers.wire.tool_choice import ToolChoice, tool_choice
from parley.providers.wire.turn_taking import Turn, turns_of

__all__ = ["decode_error", "decode_stream", "encode", "path"]

GENERATION = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "response_mime_type": "responseMimeType",
    "response_json_schema": "responseJsonSchema",
    "response_modalities": "responseModalities",
    "thinking_config": "thinkingConfig",
}
"""An agent's setting → its field in ``generationConfig``."""
TOP_LEVEL = {"safety_settings": "safetySettings", "cached_content": "cachedContent"}

UNSIGNED = "skip_thought_signature_validator"
"""What Google documents for calls that another model made: Gemini 3 refuses calls without any signature."""

_ACCEPTED_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.:-]")
_LONGEST_NAME = 64


def path(prompt: Prompt) -> str:
    """The model is part of the address; ``tunedModels/x`` and ``models/x`` are taken as they are."""
    return f"/{model_path(prompt.model)}:streamGenerateContent?alt=sse"


def model_path(model: str) -> str:
    """``models/{model}``, escaped."""
    name = quote(model, safe="/")
    return name if name.startswith(("models/", "tunedModels/")) else f"models/{name}"


def encode(prompt: Prompt) -> dict[str, Any]:
    """The request body. A setting is sent only if it is set; ``extra_body`` in the settings is merged in."""
    # There are no system messages here; instructions have a field of their own, which is what the format
    # "gemini" stands for. A model that refuses the field (Gemma) is served by the override "standard": then
    # its first message begins with them.
    apart = prompt.capabilities.custom_format == "gemini" and prompt.text is None and bool(prompt.system)
    without = prompt.capabilities.but(supports_system_messages=False)
    asked = prompt.but(system="" if apart else prompt.system, capabilities=without)
    body: dict[str, Any] = {"contents": [_content(prompt, turn) for turn in turns_of(asked, _ACCEPTED_ID)]}
    if apart:
        body["systemInstruction"] = {"parts": [{"text": prompt.system}], "role": "user"}
    return _merged(body | _tools(prompt) | _settings(prompt), prompt.settings.get("extra_body"))


def _tools(prompt: Prompt) -> dict[str, Any]:
    if not (prompt.tools and prompt.capabilities.supports_tool_calls):
        return {}
    declarations = [
        {"name": tool.name}
        | ({"description": tool.description} if tool.description else {})
        | ({"parametersJsonSchema": tool.parameters} if _takes_arguments(tool) else {})
        for tool in prompt.tools
    ]
    choice = tool_choice(prompt.settings.get("tool_choice"))
    return {"tools": [{"functionDeclarations": declarations}]} | _calling(choice)


def _takes_arguments(tool: ToolSpec) -> bool:
    """A function without arguments is declared without a schema: one without properties was refused for long."""
    return bool(tool.parameters.get("properties") or tool.parameters.get("additionalProperties"))


def _calling(choice: ToolChoice | None) -> dict[str, Any]:
    match choice:
        case None:
            return {}
        case ToolChoice(kind="tool", name=name):
            mode = {"mode": "ANY", "allowedFunctionNames": [name]}
        case ToolChoice(kind=kind):
            mode = {"mode": kind.upper()}
    return {"toolConfig": {"functionCallingConfig": mode}}


def _settings(prompt: Prompt) -> dict[str, Any]:
    config = {
        field: prompt.settings[name]
        for name, field in GENERATION.items()
        if prompt.settings.get(name) is not None
    }
    if isinstance(config.get("stopSequences"), str):
        config["stopSequences"] = [config["stopSequences"]]
    if prompt.response_schema is not None:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": prompt.response_schema}
    top = {
        field: prompt.settings[name]
        for name, field in TOP_LEVEL.items()
        if prompt.settings.get(name) is not None
    }
    return top | ({"generationConfig": config} if config else {})


def _merged(body: dict[str, Any], extra: Any) -> dict[str, Any]:
    """``extra`` merged in, so that a part of ``generationConfig`` does not cost the rest of it."""
    for name, value in extra.items() if isinstance(extra, dict) else ():
        inner = body.get(name)
        body[name] = inner | value if isinstance(inner, dict) and isinstance(value, dict) else value
    return body


def _content(prompt: Prompt, turn: Turn) -> dict[str, Any]:
    role = "model" if turn.role == "assistant" else "user"
    return {"role": role, "parts": [part for message in turn.messages for part in _parts(prompt, message)]}


def _parts(prompt: Prompt, message: PromptMessage) -> Iterator[dict[str, Any]]:
    match message.role:
        case "user":
            yield {"text": message.content}
        case "tool":
            response = {
                "id": message.tool_call_id,
                "name": function_name(message.name or ""),
                "response": _response(message),
            }
            yield {"functionResponse": response}
        case "assistant":
            yield from _texts(message.content, prompt.own_data(message).get(TEXT_SIGNATURES))
            yield from _calls(prompt, message)


def _calls(prompt: Prompt, message: PromptMessage) -> Iterator[dict[str, Any]]:
    own = message.provider == prompt.provider and message.model in (None, prompt.model)
    for place, call in enumerate(message.tool_calls):
        part: dict[str, Any] = {
            "functionCall": {
                "id": call.tool_call_id,
                "name": function_name(call.name),
                "args": call.arguments,
            }
        }
        # Of parallel calls only the first is signed.
        signature = call.metadata.get(CALL_SIGNATURE) if own else None if place else UNSIGNED
        yield part | ({"thoughtSignature": signature} if signature else {})


def function_name(name: str) -> str:
    """A name that Google accepts: a model may have called what no agent could offer."""
    name = _NOT_IN_NAMES.sub("_", name)
    return (name if re.match(r"[A-Za-z_]", name) else f"_{name}")[:_LONGEST_NAME]


def _response(message: PromptMessage) -> dict[str, Any]:
    """A result has to be an object; any other is wrapped under the name that Google documents for it."""
    if not message.ok:
        return {"error": message.content}
    try:
        value = read_json(message.content)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"result": message.content}


def _texts(content: str, signatures: Any) -> Iterator[dict[str, Any]]:
    """The text, parted where signatures begin and end; a blank one is none."""
    done = 0 if content.strip() else len(content)
    for entry in as_list(signatures):
        match entry:
            case [int(start), int(end), str(signature)] if done <= start < end <= len(content):
                if start > done:
                    yield {"text": content[done:start]}
                yield {"text": content[start:end], "thoughtSignature": signature}
                done = end
    if done < len(content):
        yield {"text": content[done:]}


def decode_error(status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """``{"error": {code, message, status, details}}``, or any text."""
    return error_of(body, status, headers)
