"""Which ids the calls of a prompt are sent under.

Parley mints its own ids and keeps the provider's beside them. A provider gets its own back where it is still
one that the wire accepts; any other call goes under Parley's. No id is sent twice, so wires that list calls
and results flat cannot mix them up.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from parley.domain.messages import ToolCall
from parley.prompts.prompt import Prompt, PromptMessage


def with_sent_ids(prompt: Prompt, accepted: re.Pattern[str]) -> Iterator[PromptMessage]:
    """The prompt's messages with ``tool_call_id`` replaced by the id to send, in calls and results alike.

    ``accepted`` matches whole ids. The same prompt gets the same ids each time, and a longer one keeps them.
    """
    used: set[str] = set()
    sent: dict[str, str] = {}
    for message in prompt.messages:
        if message.tool_calls:
            own = message.provider == prompt.provider
            sent = {
                call.tool_call_id: _free(_candidates(call, own, accepted), used)
                for call in message.tool_calls
            }
            yield message.but(
                tool_calls=tuple(
                    call.but(tool_call_id=sent[call.tool_call_id]) for call in message.tool_calls
                )
            )
        elif message.role == "tool":
            known = message.tool_call_id or ""
            yield message.but(tool_call_id=sent.get(known, known))
        else:
            yield message


def _candidates(call: ToolCall, own: bool, accepted: re.Pattern[str]) -> Iterator[str]:
    for name in (call.provider_call_id if own else None, call.tool_call_id):
        if name and accepted.fullmatch(name):
            yield name
    for number in range(1_000_000):
        digest = hashlib.sha256(f"{number}:{call.tool_call_id}".encode("utf-8", "replace"))
        yield "call_" + digest.hexdigest()[:24]


def _free(candidates: Iterable[str], used: set[str]) -> str:
    found = next(name for name in candidates if name not in used)
    used.add(found)
    return found
