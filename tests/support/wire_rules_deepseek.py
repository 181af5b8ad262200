"""What DeepSeek refuses beyond the chat wire's rules. Source: https://api-docs.deepseek.com/guides/thinking_mode."""

from typing import Any

from tests.support import wire_rules_openai_chat


def check(body: dict[str, Any]) -> None:
    """Raises AssertionError for a request that would be refused."""
    wire_rules_openai_chat.check(body, more=frozenset({"reasoning_content"}))
    for message in body["messages"]:
        if message.get("tool_calls"):
            assert message["reasoning_content"].strip(), "reasoning_content must be passed back"
            assert message["content"] is not None
        else:
            assert "reasoning_content" not in message
