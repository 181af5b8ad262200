"""Keeping a prompt within its model's context: how long it is, and that it is refused when nothing helps.

Owns the estimate. No tokenizer is asked: each model has its own, and a prompt may go to any of them. A token is
taken to be three bytes of UTF-8: English has about four to a token, source code and JSON about three, Chinese
and Japanese about a character of three bytes, so the estimate errs towards too many. Each message costs a few
tokens more for its role and its marks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from parley.domain.errors import ProviderRejectedRequest
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec

BYTES_PER_TOKEN = 3
TOKENS_PER_MESSAGE = 6
REPLY_SETTINGS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""Settings that say how long the reply may get: it shares the context with the prompt."""


def first_that_fits(candidates: Iterable[Prompt], max_context_length: int | None) -> Prompt:
    """The first prompt that leaves the reply its room; ``candidates`` come in the order of preference.

    Raises ProviderRejectedRequest if not even the last one does.
    """
    needed = 0
    for prompt in candidates:
        if max_context_length is None:
            return prompt
        needed = estimated_tokens(prompt) + _reply_tokens(prompt.settings)
        if needed <= max_context_length:
            return prompt
    raise ProviderRejectedRequest(
        f"This message needs about {needed:,} tokens with its instructions and the room for a reply; "
        f"the model has room for {max_context_length:,}. Send less at once."
    )


def estimated_tokens(prompt: Prompt) -> int:
    """How many tokens the prompt has, rather too many than too few."""
    if prompt.text is not None:
        return _tokens(prompt.text) + TOKENS_PER_MESSAGE
    system = _tokens(prompt.system) + TOKENS_PER_MESSAGE if prompt.system else 0
    return system + sum(map(_message_tokens, prompt.messages)) + sum(map(_tool_tokens, prompt.tools))


def _message_tokens(message: PromptMessage) -> int:
    calls = sum(_tokens(call.name) + _tokens(_json(call.arguments)) for call in message.tool_calls)
    kept = _tokens(_json(message.provider_data)) if message.provider_data else 0
    return TOKENS_PER_MESSAGE * (1 + len(message.tool_calls)) + _tokens(message.content) + calls + kept


def _tool_tokens(tool: ToolSpec) -> int:
    return TOKENS_PER_MESSAGE + sum(map(_tokens, (tool.name, tool.description, _json(tool.parameters))))


def _reply_tokens(settings: dict[str, Any]) -> int:
    wanted = (settings.get(name) for name in REPLY_SETTINGS)
    return max((number for number in wanted if type(number) is int), default=0)


def _tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
