"""OpenAI's chat wire for providers who want a model's reasoning back around its calls.

Owns the one field that it comes and goes in. It goes back on messages with calls alone, where it is needed; on
others it is refused or ignored. Sources: https://api-docs.deepseek.com/guides/thinking_mode (``reasoning_content``,
text) and https://openrouter.ai/docs/use-cases/reasoning-tokens (``reasoning_details``, a list of objects).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from parley.domain.errors import ProviderError
from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.wire import openai_chat
from parley.providers.wire.shapes import as_object
from parley.turns.model_ports import Delta


@dataclass(frozen=True, slots=True)
class KeptReasoning:
    """A wire. ``field``: of deltas and messages. ``required``: calls without it are refused, even those that
    another provider's model made.
    """

    field: str
    required: bool = False

    def path(self, prompt: Prompt) -> str:
        """As OpenAI's."""
        return openai_chat.path(prompt)

    def encode(self, prompt: Prompt) -> dict[str, Any]:
        """As OpenAI's, with the reasoning on messages that have calls."""

        def reasoning(message: PromptMessage) -> dict[str, Any]:
            kept = prompt.own_data(message).get(self.field)
            if not kept and self.required:
                kept = _stand_in(message)
            if not kept:
                return {}
            # Beside reasoning, content must not be null.
            return {
                "content": message.content.strip() and message.content,
                self.field: _with_our_ids(kept, message),
            }

        return openai_chat.encode(prompt, with_calls=reasoning)

    def decode_stream(self, lines: Iterable[str]) -> Iterator[Delta]:
        """As OpenAI's, with the reasoning kept if there are calls."""
        return openai_chat.decode_stream(lines, keep=self.field)

    def decode_error(self, status: int, headers: Mapping[str, str], body: str) -> ProviderError:
        """As OpenAI's."""
        return openai_chat.decode_error(status, headers, body)


def _stand_in(message: PromptMessage) -> str:
    """Words of its own for each message: models were seen to repeat a stand-in that stood there all the time."""
    return f"Calling {', '.join(dict.fromkeys(call.name or 'a function' for call in message.tool_calls))}."


def _with_our_ids(kept: Any, message: PromptMessage) -> Any:
    """Some details name the call that they belong to, by the provider's id; we send ours."""
    if not isinstance(kept, list):
        return kept
    ours = {call.provider_call_id: call.tool_call_id for call in message.tool_calls if call.provider_call_id}
    return [
        detail | ({"id": ours[detail["id"]]} if detail.get("id") in ours else {})
        for detail in map(as_object, kept)
    ]
