"""Events of Anthropic's streams."""

import json
from typing import Any

from parley.providers.wire.anthropic import decode_stream
from tests.support.replies import Reply, collect


def read(*events: dict[str, Any]) -> Reply:
    return collect(decode_stream(line for event in events for line in (f"data: {json.dumps(event)}", "")))


def block(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {**fields, "type": kind}}


def part(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ends(reason: str = "end_turn", **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
