"""Responses of Gemini's streams."""

import json
from typing import Any

from parley.providers.wire.gemini import decode_stream
from tests.support.replies import Reply, collect


def read(*responses: dict[str, Any]) -> Reply:
    return collect(
        decode_stream(line for response in responses for line in (f"data: {json.dumps(response)}", ""))
    )


def part(*parts: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    ends = {"finishReason": finish} if finish else {}
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, **ends}]}
