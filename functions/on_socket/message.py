"""The route $default: whatever a client sends."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.sockets import receive


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answered on the connection itself."""
    receive(wiring.runtime(), event["requestContext"]["connectionId"], event.get("body") or "")
    return {"statusCode": 200}
