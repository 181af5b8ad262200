"""Events of the Responses API's streams."""

import json
from typing import Any

from parley.providers.wire.openai_responses import decode_stream
from tests.support.replies import Reply, collect

REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}


def event(kind: str, **fields: Any) -> str:
    return "data: " + json.dumps({"type": kind, **fields})


def end(status: str = "completed", **more: Any) -> str:
    return event(f"response.{status}", response={"status": status, "output": [], **more})


def done(place: int, **item: Any) -> str:
    return event("response.output_item.done", output_index=place, item=item)


def text(place: int, delta: str) -> str:
    return event("response.output_text.delta", output_index=place, delta=delta)


def read(*lines: str) -> Reply:
    return collect(decode_stream(each for line in lines for each in (line, "")))
