"""What chat completions refuse in a request, at OpenAI or at those who speak its wire.

Source: https://platform.openai.com/docs/api-reference/chat/create and the errors seen; what only some refuse
(blank texts, a user's messages in a row, an assistant's at the end) is refused here for all.
"""

import json
import re
from typing import Any

ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}


def check(body: dict[str, Any], *, more: frozenset[str] = frozenset()) -> None:
    """Raises AssertionError for a request that would be refused. ``more``: further fields of assistants."""
    json.dumps(body, allow_nan=False)
    assert body["model"]
    assert body["stream"] is True
    for tool in body.get("tools", ()):
        assert NAME.fullmatch(tool["function"]["name"])
        assert tool["function"]["parameters"]["type"] == "object"
    _check_messages(body["messages"], more)


def _check_messages(messages: list[dict[str, Any]], more: frozenset[str]) -> None:
    open_calls: list[str] = []
    seen: set[str] = set()
    before = ""
    for place, message in enumerate(messages):
        role = message["role"]
        assert message.keys() <= FIELDS[role] | (more if role == "assistant" else frozenset())
        if role == "tool":
            assert open_calls, (
                "messages with role 'tool' must be a response to a preceding message with calls"
            )
            assert message["tool_call_id"] == open_calls.pop(0)
        else:
            assert not open_calls, "an assistant message with calls must be followed by tool messages"
        assert (role == "system") <= (place == 0)
        assert not (role == before == "user")
        calls = message.get("tool_calls")
        if calls is None:
            assert message["content"].strip(), "blank content"
        else:
            assert message["content"] in (None, "") or message["content"].strip()
            open_calls = [_check_call(call, seen) for call in calls]
            assert open_calls, "tool_calls must not be empty"
        before = role
    assert not open_calls
    assert next(message["role"] for message in messages if message["role"] != "system") == "user"
    assert before in {"user", "tool"}


def _check_call(call: dict[str, Any], seen: set[str]) -> str:
    assert ID.fullmatch(call["id"]), "invalid id"
    assert call["id"] not in seen, "duplicate id"
    seen.add(call["id"])
    assert NAME.fullmatch(call["function"]["name"]), "invalid function name"
    assert isinstance(json.loads(call["function"]["arguments"]), dict)
    return str(call["id"])
