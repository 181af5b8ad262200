"""What OpenAI's Responses API refuses in a request without its memory.

Source: https://platform.openai.com/docs/api-reference/responses/create and its errors.
"""

import json
import re
from typing import Any

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
FIELDS = {
    "model",
    "stream",
    "store",
    "include",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "max_output_tokens",
    "reasoning",
    "text",
    "truncation",
    "prompt_cache_key",
    "service_tier",
    "user",
}


def check(body: dict[str, Any]) -> None:
    """Raises AssertionError for a request that would be refused."""
    json.dumps(body, allow_nan=False)
    assert {*body} <= FIELDS, "unknown parameter"
    assert body["store"] is False
    assert body["input"], "input is empty"
    waiting: list[str] = []
    seen: set[str] = set()
    for place, item in enumerate(body["input"]):
        match item:
            case {"type": "reasoning", "id": str(), "summary": list(), "encrypted_content": str()}:
                # A reply's items go back as they came: reasoning may stand between its calls too.
                _check_follower(body["input"], place)
            case {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}:
                assert CALL_ID.fullmatch(call_id)
                assert call_id not in seen, "duplicate call_id"
                assert NAME.fullmatch(name)
                assert isinstance(json.loads(arguments), dict)
                seen.add(call_id)
                waiting.append(call_id)
            case {"type": "function_call_output", "call_id": call_id, "output": str()}:
                assert call_id in waiting, "no tool call found for function call output"
                waiting.remove(call_id)
            case {"role": "user" | "assistant", "content": str(content)} if "type" not in item:
                assert content
                assert not waiting or item["role"] == "assistant", "no tool output found for function call"
                assert item["role"] == "assistant" or "phase" not in item
            case _:
                raise AssertionError(f"unknown item {item}")
    assert not waiting, "no tool output found for function call"
    _check_tools(body.get("tools", ()))


def _check_follower(items: list[dict[str, Any]], place: int) -> None:
    """Reasoning was provided without its required following item."""
    following = next((item for item in items[place + 1 :] if item.get("type") != "reasoning"), {})
    assert following.get("type") == "function_call" or following.get("role") == "assistant"


def _check_tools(tools: Any) -> None:
    for tool in tools:
        assert tool["type"] == "function"
        assert NAME.fullmatch(tool["name"])
        assert tool["parameters"]["type"] == "object"
        assert tool["strict"] is False
