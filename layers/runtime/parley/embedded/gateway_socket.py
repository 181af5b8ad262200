"""WebSockets as API Gateway's WebSocket API speaks them to Lambda functions.

Pure: the events of the Lambda authorizer and of the routes, and the reading of their answers. Sources, below
https://docs.aws.amazon.com/apigateway/latest/developerguide/: apigateway-websocket-api-lambda-auth.html
(authorizer), apigateway-websocket-api-route-keys-connect-disconnect.html, apigateway-execution-service-
websocket-limits-table.html (limits).
"""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from parley.embedded.gateway import joined_headers, query_parameters

MAX_MESSAGE = 128 * 1024
MAX_FRAME = 32 * 1024
IDLE_SECONDS = 600.0
LIFE_SECONDS = 7200.0


class Close(NamedTuple):
    """Why the server ends a connection: a code of RFC 6455 and a few words."""

    code: int
    reason: str


TOO_OLD = Close(1001, "Going away")
IDLE = Close(1001, "Idle")
TOO_SLOW = Close(1013, "Too slow: connect again and resume")
BINARY_REFUSED = Close(1003, "Binary messages are not supported")

_STAGE, _API_ID = "embedded", "embedded"


def new_connection_id() -> str:
    """An id in API Gateway's alphabet."""
    return secrets.token_urlsafe(12).replace("_", "x") + "="


@dataclass(frozen=True, slots=True)
class Handshake:
    """What a client sent to open a connection."""

    query: str
    headers: Sequence[tuple[str, str]]
    client_ip: str
    connected_at: float


class SocketEvents:
    """Makes the events of one connection."""

    def __init__(self, connection_id: str, handshake: Handshake) -> None:
        self.connection_id = connection_id
        self._handshake = handshake
        self._headers = joined_headers(handshake.headers)
        self._authorizer: dict[str, Any] | None = None

    def authorize(self) -> dict[str, Any]:
        """For the Lambda authorizer of `$connect`."""
        return {
            "type": "REQUEST",
            "methodArn": f"arn:aws:execute-api:local:000000000000:{_API_ID}/{_STAGE}/$connect",
            "headers": self._headers,
            "queryStringParameters": query_parameters(self._handshake.query),
            "requestContext": self._context("$connect", "CONNECT"),
        }

    def admit(self, authorizer: dict[str, Any]) -> None:
        """Keep what the authorizer said: every later event carries it."""
        self._authorizer = authorizer

    def connect(self) -> dict[str, Any]:
        """For the route `$connect`."""
        return {
            "headers": self._headers,
            "queryStringParameters": query_parameters(self._handshake.query),
            "requestContext": self._context("$connect", "CONNECT"),
            "isBase64Encoded": False,
        }

    def message(self, body: str) -> dict[str, Any]:
        """For the route `$default`, the one that every message takes."""
        context = self._context("$default", "MESSAGE")
        context["messageId"] = uuid.uuid4().hex
        return {"requestContext": context, "body": body, "isBase64Encoded": False}

    def disconnect(self, code: int, reason: str) -> dict[str, Any]:
        """For the route `$disconnect`."""
        context = self._context("$disconnect", "DISCONNECT")
        context["disconnectStatusCode"] = code
        context["disconnectReason"] = reason
        return {"headers": self._headers, "requestContext": context, "isBase64Encoded": False}

    def _context(self, route_key: str, event_type: str) -> dict[str, Any]:
        context: dict[str, Any] = {
            "routeKey": route_key,
            "eventType": event_type,
            "connectionId": self.connection_id,
            "connectedAt": int(self._handshake.connected_at * 1000),
            "messageDirection": "IN",
            "domainName": self._headers.get("host", "localhost"),
            "stage": _STAGE,
            "apiId": _API_ID,
            "requestId": uuid.uuid4().hex,
            "identity": {
                "sourceIp": self._handshake.client_ip,
                "userAgent": self._headers.get("user-agent", ""),
            },
        }
        if self._authorizer is not None:
            context["authorizer"] = self._authorizer
        return context


def admission(result: object) -> dict[str, Any] | None:
    """What an authorizer's policy passes on, or None if it does not allow the connection.

    A statement that denies wins over one that allows, as everywhere in IAM.
    """
    if not isinstance(result, Mapping):
        return None
    try:
        statements = result["policyDocument"]["Statement"]
        effects = {statement["Effect"] for statement in statements}
        if effects != {"Allow"}:
            return None
        context = {name: _context_value(value) for name, value in (result.get("context") or {}).items()}
        return {"principalId": str(result["principalId"]), **context}
    except (KeyError, TypeError, AttributeError):
        return None


def _context_value(value: object) -> str:
    """An authorizer's context holds strings, numbers and booleans, and is passed on as strings."""
    return value if isinstance(value, str) else json.dumps(value)


def refusal_status(result: object) -> int | None:
    """The status with which `$connect` refused the connection; None if it took it."""
    if not isinstance(result, Mapping):
        return 500
    status = result.get("statusCode", 500)
    return None if isinstance(status, int) and status < 300 else int(status)
