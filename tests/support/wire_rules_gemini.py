"""What Google's Gemini API refuses in a request. Source: https://ai.google.dev/api/generate-content and its errors."""

import json
import re
from typing import Any

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")


def check(body: dict[str, Any]) -> None:
    """Raises AssertionError for a request that would be refused."""
    json.dumps(body, allow_nan=False)
    contents = body["contents"]
    assert contents, "contents is not specified"
    assert contents[0]["role"] == "user"
    assert contents[-1]["role"] == "user", "the model is asked to go on"
    for before, content in zip([None, *contents[:-1]], contents, strict=True):
        assert content["role"] in ("user", "model"), "please use a valid role: user, model"
        assert before is None or before["role"] != content["role"], "roles alternate"
        assert content["parts"], "contents.parts must not be empty"
        for part in content["parts"]:
            _check_part(content["role"], part)
        _check_results(before, content)
    if "systemInstruction" in body:
        assert all(part["text"].strip() for part in body["systemInstruction"]["parts"])
    for tool in body.get("tools", ()):
        assert all(NAME.fullmatch(each["name"]) for each in tool["functionDeclarations"])


def _check_part(role: str, part: dict[str, Any]) -> None:
    kinds = {*part} - {"thoughtSignature"}
    assert len(kinds) == 1, "one data field per part"
    match part:
        case {"text": text}:
            assert text.strip(), "empty text parameter"
        case {"functionCall": call}:
            assert role == "model"
            assert NAME.fullmatch(call["name"]), "invalid function name"
            assert isinstance(call["args"], dict), "args is a Struct"
        case {"functionResponse": response}:
            assert role == "user"
            assert NAME.fullmatch(response["name"]), "invalid function name"
            assert isinstance(response["response"], dict), "response is a Struct"
        case _:
            raise AssertionError(f"unknown part {part}")
    assert role == "model" or "thoughtSignature" not in part


def _check_results(before: dict[str, Any] | None, content: dict[str, Any]) -> None:
    """As many functionResponse parts as the calls before, in their order and first in the content."""
    calls = [part["functionCall"] for part in before["parts"] if "functionCall" in part] if before else []
    results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
    if content["role"] == "model":
        assert not results
        return
    assert [(call["id"], call["name"]) for call in calls] == [(each["id"], each["name"]) for each in results]
    assert all("functionResponse" in part for part in content["parts"][: len(results)])
