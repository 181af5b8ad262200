"""What Anthropic's Messages API refuses in a request.

Source: https://docs.claude.com/en/api/messages and the errors that it answers with, for version 2026-10-21.
"""

import json
import re
from typing import Any

ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
FIELDS = {
    "model",
    "max_tokens",
    "messages",
    "stream",
    "system",
    "tools",
    "tool_choice",
    "stop_sequences",
    "thinking",
    "output_config",
    "metadata",
    "service_tier",
    "cache_control",
}
THOUGHTS = ("thinking", "redacted_thinking")


def check(body: dict[str, Any]) -> None:
    """Raises AssertionError for a request that would be refused."""
    json.dumps(body, allow_nan=False)
    assert {*body} <= FIELDS, "extra inputs are not permitted"
    assert body["max_tokens"] >= 1
    assert body.get("system", "x").strip(), "system: text content blocks must be non-empty"
    messages = body["messages"]
    assert messages, "at least one message is required"
    assert messages[0]["role"] == "user", "first message must use the user role"
    assert messages[-1]["role"] == "user", "the model does not go on with an assistant message"
    used: set[str] = set()
    calls: list[str] = []
    for place, message in enumerate(messages):
        assert place == 0 or message["role"] != messages[place - 1]["role"], "roles must alternate"
        blocks = _blocks(message)
        if message["role"] == "user":
            _check_results(blocks, calls)
            calls = []
        else:
            assert blocks[-1]["type"] not in THOUGHTS, "the final block cannot be thinking"
            calls = [_check_call(block, used) for block in blocks if block["type"] == "tool_use"]
    _check_tools(body, bool(used))
    _check_thinking(body)


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    assert blocks, "all messages must have non-empty content"
    allowed = ("text", "tool_result") if message["role"] == "user" else ("text", "tool_use", *THOUGHTS)
    for block in blocks:
        assert block["type"] in allowed, f"{block['type']} blocks are not allowed here"
        if block["type"] == "text":
            assert block["text"].strip(), "text content blocks must contain non-whitespace text"
        if block["type"] == "thinking":
            assert block["signature"], "signature: field required"
    return blocks


def _check_call(block: dict[str, Any], used: set[str]) -> str:
    call_id: str = block["id"]
    assert ID.fullmatch(call_id), "id should match pattern"
    assert call_id not in used, "tool_use ids must be unique"
    used.add(call_id)
    assert NAME.fullmatch(block["name"]), "name should match pattern"
    assert isinstance(block["input"], dict), "input should be an object"
    return call_id


def _check_results(blocks: list[dict[str, Any]], calls: list[str]) -> None:
    results = [block for block in blocks if block["type"] == "tool_result"]
    assert [block["tool_use_id"] for block in results] == calls, "each tool_use must have a tool_result next"
    assert blocks[: len(results)] == results, "tool_result blocks come before text"
    assert all(block["content"].strip() for block in results), "content cannot be empty if is_error is true"


def _check_tools(body: dict[str, Any], called: bool) -> None:
    tools = body.get("tools", [])
    assert tools or not called, "requests which include tool_use blocks must define tools"
    assert tools or "tool_choice" not in body, "tool_choice may only be specified while providing tools"
    names = [tool["name"] for tool in tools]
    assert len(names) == len(set(names)), "tool names must be unique"
    for tool in tools:
        assert NAME.fullmatch(tool["name"])
        assert tool["input_schema"]["type"] == "object"


def _check_thinking(body: dict[str, Any]) -> None:
    if body.get("thinking", {}).get("type") != "enabled":
        return
    assert body["max_tokens"] > body["thinking"]["budget_tokens"], (
        "max_tokens must be greater than the budget"
    )
    last = body["messages"][-1]["content"]
    if not isinstance(last, str) and last[0]["type"] == "tool_result":
        before = body["messages"][-2]["content"]
        assert before[0]["type"] in THOUGHTS, "a final assistant message must start with a thinking block"
