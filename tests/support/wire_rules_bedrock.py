"""What Bedrock's Converse API refuses in a request, and what boto3 refuses before.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html, boto3's service
model, and the errors that the API answers with. Where models differ, the strictest rule is taken.
"""

import functools
import re
from typing import Any

import botocore.session
from botocore.model import Shape
from botocore.validate import ParamValidator

ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@functools.cache
def _shape() -> Shape:
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    shape = model.operation_model("ConverseStream").input_shape
    assert shape is not None
    return shape


def check(request: dict[str, Any]) -> None:
    """Raises AssertionError for a request that would be refused."""
    report = ParamValidator().validate(request, _shape())
    assert not report.has_errors(), report.generate_report()
    messages = request["messages"]
    assert messages[0]["role"] == "user", "a conversation must start with a user message"
    assert messages[-1]["role"] == "user", "the model does not go on with an assistant message"
    calls: list[str] = []
    used: set[str] = set()
    for place, message in enumerate(messages):
        assert place == 0 or message["role"] != messages[place - 1]["role"], "roles must alternate"
        kinds = _check_blocks(message)
        if message["role"] == "user":
            results = [block["toolResult"] for block in message["content"] if "toolResult" in block]
            assert [result["toolUseId"] for result in results] == calls, "expected toolResult blocks"
            assert len(set(kinds)) == 1, "conversation blocks and tool result blocks in the same turn"
            calls = []
        else:
            assert kinds[-1] != "reasoningContent"
            calls = [
                _check_call(block["toolUse"], used) for block in message["content"] if "toolUse" in block
            ]
    assert "toolConfig" in request or not used, "toolConfig must be defined when using toolUse blocks"
    assert all(block["text"].strip() for block in request.get("system", []))
    _check_thinking(request)


def _check_blocks(message: dict[str, Any]) -> list[str]:
    kinds = [next(iter(block)) for block in message["content"]]
    assert kinds, "content is empty"
    allowed = {"text", "toolResult"} if message["role"] == "user" else {"text", "toolUse", "reasoningContent"}
    assert {*kinds} <= allowed
    for block in message["content"]:
        assert len(block) == 1, "one member of the union"
        assert block.get("text", "x").strip(), "the text field is blank"
        for part in block.get("toolResult", {}).get("content", [{"text": "x"}]):
            assert part["text"].strip(), "the text field is blank"
    return kinds


def _check_call(call: dict[str, Any], used: set[str]) -> str:
    call_id: str = call["toolUseId"]
    assert ID.fullmatch(call_id)
    assert call_id not in used, "duplicate ids"
    used.add(call_id)
    assert NAME.fullmatch(call["name"])
    assert isinstance(call["input"], dict), "the format of the value at toolUse.input is invalid"
    return call_id


def _check_thinking(request: dict[str, Any]) -> None:
    thinking = request.get("additionalModelRequestFields", {}).get("thinking", {})
    messages = request["messages"]
    if thinking.get("type") == "enabled" and "toolResult" in messages[-1]["content"][0]:
        assert "reasoningContent" in messages[-2]["content"][0], "must start with a thinking block"
