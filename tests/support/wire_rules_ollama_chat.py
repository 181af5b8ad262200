"""What Ollama's chat refuses or silently drops. Source: https://github.com/ollama/ollama/blob/main/docs/api.md."""

import json
from typing import Any


def check(body: dict[str, Any]) -> None:
    """Raises AssertionError for a request that would be refused or misunderstood."""
    json.dumps(body, allow_nan=False)
    open_calls: list[str] = []
    messages = body["messages"]
    for place, message in enumerate(messages):
        role = message["role"]
        assert role in {"system", "user", "assistant", "tool"}
        assert (role == "system") <= (place == 0)
        if role == "tool":
            assert message["tool_name"] == open_calls.pop(0), "results follow their calls in order"
        else:
            assert not open_calls
        calls = message.get("tool_calls", [])
        assert calls or message["content"].strip()
        assert all(isinstance(call["function"]["arguments"], dict) for call in calls), "an object, not text"
        open_calls = [call["function"]["name"] for call in calls] or open_calls
        assert all(open_calls)
    assert not open_calls
    assert messages[-1]["role"] in {"user", "tool"}
    assert next(message["role"] for message in messages if message["role"] != "system") == "user"
    assert set(body) <= {"model", "stream", "messages", "tools", "options", "keep_alive", "format", "think"}
