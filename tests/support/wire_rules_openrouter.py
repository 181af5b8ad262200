"""What OpenRouter refuses beyond the chat wire's rules. Source: https://openrouter.ai/docs."""

from typing import Any

from tests.support import wire_rules_openai_chat


def check(body: dict[str, Any]) -> None:
    """Raises AssertionError for a request that would be refused."""
    wire_rules_openai_chat.check(body, more=frozenset({"reasoning_details"}))
    for message in body["messages"]:
        details = message.get("reasoning_details", [{"type": "none"}])
        assert details
        assert all(isinstance(detail["type"], str) for detail in details)
        assert "reasoning_details" not in message or message["tool_calls"]
