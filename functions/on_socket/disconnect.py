"""The route $disconnect."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.sockets import disconnect


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Forget the connection."""
    disconnect(wiring.runtime(), event["requestContext"]["connectionId"])
    return {"statusCode": 200}
