"""The entry of the WebSocket API's Lambda: one function for its three routes."""

from __future__ import annotations

from typing import Any

from on_socket import connect, disconnect, message

_HANDLERS = {"$connect": connect.handler, "$disconnect": disconnect.handler}


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Hand the event to the module of its route."""
    route = event["requestContext"]["routeKey"]
    return _HANDLERS.get(route, message.handler)(event, context)
