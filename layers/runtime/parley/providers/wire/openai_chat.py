"""OpenAI's chat completions, the wire that many providers and local servers speak.

``POST {base}/chat/completions`` with ``stream: true``; the reply is server-sent events of
``chat.completion.chunk`` objects up to ``[DONE]``. Source: requests recorded from the official SDK and
https://platform.openai.com/docs/api-reference/chat. How call deltas join is in ``tool_call_slots``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from parley.domain.errors import RetryableProviderError, StreamCut
from parley.domain.messages import ToolCall, Usage
from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.wire.chat_turns import chat_messages
from parley.providers.wire.ndjson import object_in
from parley.providers.wire.openai_errors import decode_error, stream_error
from parley.providers.wire.reasoning import Reasoning
from parley.providers.wire.shapes import as_count, as_list, as_object
from parley.providers.wire.sse import decode_events, json_or_lines
from parley.providers.wire.tool_call_slots import ToolCallSlots
from parley.turns.model_ports import Delta, Finish, TextDelta

__all__ = ["SETTINGS", "decode_error", "decode_stream", "encode", "function_name", "path"]

SETTINGS = (
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "reasoning_effort",
    "verbosity",
    "response_format",
    "service_tier",
    "tool_choice",
    "parallel_tool_calls",
    "user",
)
SCHEMA_NAME = "answer"
"""What a response schema is called: it has to have a name."""
_TOOL_SETTINGS = {"tool_choice", "parallel_tool_calls"}
_FINISH = {"function_call": "tool_calls", "max_tokens": "length", "eos": "stop", "end_turn": "stop"}
_REASONS = {"stop", "length", "tool_calls", "content_filter"}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_IDS = re.compile(r"[A-Za-z0-9_-]{1,40}")


def path(prompt: Prompt) -> str:
    """The same for every model."""
    return "/chat/completions"


def encode(
    prompt: Prompt, *, with_calls: Callable[[PromptMessage], dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The request body. A setting is sent only if it is set; ``extra_body`` in the settings is merged in.

    ``with_calls``: what a provider wants besides on a message that has calls.
    """
    body: dict[str, Any] = {
        "model": prompt.model,
        "stream": True,
        "messages": _messages(prompt, with_calls),
        "stream_options": {"include_usage": True},
    }
    tools = prompt.tools if prompt.capabilities.supports_tool_calls else ()
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name}
                | ({"description": tool.description} if tool.description else {})
                | {"parameters": tool.parameters or {"type": "object", "properties": {}}},
            }
            for tool in tools
        ]
    for name in SETTINGS:
        value = prompt.settings.get(name)
        if value is not None and (tools or name not in _TOOL_SETTINGS):
            body[name] = value
    if prompt.response_schema is not None:
        wanted = {"name": SCHEMA_NAME, "strict": True, "schema": prompt.response_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    extra = prompt.settings.get("extra_body")
    return body | extra if isinstance(extra, dict) else body


def _messages(
    prompt: Prompt, with_calls: Callable[[PromptMessage], dict[str, Any]] | None
) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if prompt.text is None and prompt.system and prompt.capabilities.supports_system_messages:
        messages.append({"role": "system", "content": prompt.system})
    for message in chat_messages(prompt, _IDS):
        more = with_calls(message) if with_calls and message.tool_calls else {}
        messages.append(_message(message) | more)
    return messages


def _message(message: PromptMessage) -> dict[str, Any]:
    match message.role:
        case "assistant" if message.tool_calls:
            return {
                "role": "assistant",
                "content": message.content if message.content.strip() else None,
                "tool_calls": [_call(call) for call in message.tool_calls],
            }
        case "tool":
            return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
        case role:
            return {"role": role, "content": message.content}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
    return {
        "id": call.tool_call_id,
        "type": "function",
        "function": {"name": function_name(call.name), "arguments": arguments},
    }


def function_name(name: str) -> str:
    """A name that OpenAI accepts: a model may have called what no agent could offer."""
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def decode_stream(lines: Iterable[str], *, keep: str = "") -> Iterator[Delta]:
    """Chunks to deltas. What counts as the end: a ``finish_reason``, or ``[DONE]`` behind some content.

    ``keep``: the field of a delta that has reasoning which the provider wants back with calls.
    """
    reply = _Reply(keep)
    try:
        for chunk in _chunks(lines):
            if chunk is None:
                reply.done = True
                break
            yield from reply.take(chunk)
    except RetryableProviderError:
        # Nothing is lost if the connection breaks behind the end: only the usage may be missing.
        if reply.finish_reason is None:
            raise
    yield reply.finish()


def _chunks(lines: Iterable[str]) -> Iterator[dict[str, Any] | None]:
    """The stream's JSON objects, and None for ``[DONE]``. A body that is one JSON object is one chunk."""
    whole, lines = json_or_lines(lines)
    if whole:
        yield object_in(whole)
    for event in decode_events(lines):
        if event.data.strip() == "[DONE]":
            yield None
            return
        if event.data.strip():
            yield object_in(event.data)


class _Reply:
    """What has come of one reply so far."""

    def __init__(self, keep: str) -> None:
        self._keep = keep
        self._reasoning = Reasoning()
        self.finish_reason: str | None = None
        self.done = False
        self._usage: Usage | None = None
        self._calls = ToolCallSlots()
        self._has_text = False
        self._refused = False

    def take(self, chunk: dict[str, Any]) -> Iterator[Delta]:
        """The deltas of one chunk. Raises if it tells of an error."""
        if chunk.get("error"):
            raise stream_error(chunk["error"])
        self._usage = _usage(chunk) or self._usage
        for choice in map(as_object, as_list(chunk.get("choices"))):
            if choice.get("index", 0) not in (0, None):
                continue
            yield from self._delta(as_object(choice.get("delta") or choice.get("message")))
            reason = choice.get("finish_reason")
            if reason == "error":
                raise stream_error(choice.get("error") or "the provider broke off with an error")
            if isinstance(reason, str):
                self.finish_reason = reason or self.finish_reason

    def _delta(self, delta: dict[str, Any]) -> Iterator[Delta]:
        if self._keep:
            self._reasoning.take(delta.get(self._keep))
        for text in (_text(delta.get("content")), _text(delta.get("refusal"))):
            if text:
                self._has_text = True
                yield TextDelta(text)
        self._refused = self._refused or bool(delta.get("refusal"))
        for call in as_list(delta.get("tool_calls")):
            yield from self._calls.take(call)
        if delta.get("function_call"):  # the form before tool calls, which some servers still speak
            yield from self._calls.take({"index": 0, "function": delta["function_call"]})

    def finish(self) -> Finish:
        """The terminal event. Raises StreamCut if none came."""
        if self.finish_reason is None and not (self.done and (self._has_text or self._calls.count)):
            raise StreamCut("the stream ended without a finish reason")
        self._calls.check()
        reason = _FINISH.get(self.finish_reason or "", self.finish_reason or "stop")
        if reason in {"stop", "tool_calls"} or reason not in _REASONS:
            reason = "tool_calls" if self._calls.count else "stop"
        if self._refused and reason == "stop":
            reason = "content_filter"
        reasoning = self._reasoning.whole
        return Finish(reason, self._usage, {self._keep: reasoning} if reasoning and self._calls.count else {})


def _text(content: Any) -> str:
    """Text, whether it comes plain or as a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(chunk: dict[str, Any]) -> Usage | None:
    """The chunk's ``usage``, or that in a vendor's own object (``x_…``)."""
    own = (as_object(value).get("usage") for name, value in chunk.items() if name.startswith("x_"))
    usage = next(filter(None, map(as_object, [chunk.get("usage"), *own])), None)
    if usage is None:
        return None
    return Usage(
        input_tokens=as_count(usage.get("prompt_tokens")),
        output_tokens=as_count(usage.get("completion_tokens")),
    )
