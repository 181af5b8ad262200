"""The route $connect."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.sockets import connect


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Remember the connection and whose it is."""
    request = event["requestContext"]
    connect(wiring.runtime(), request["connectionId"], request["authorizer"]["user_id"])
    return {"statusCode": 200}
