"""The Lambda authorizer of $connect: redeems a one-use ticket."""

from __future__ import annotations

from typing import Any

from parley import wiring
from parley.turns.sockets import redeem_ticket


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """An IAM policy for this one connection; the user's id goes along as context."""
    ticket = (event.get("queryStringParameters") or {}).get("ticket") or ""
    user_id = redeem_ticket(wiring.runtime(), ticket) if ticket else None
    statement = {
        "Action": "execute-api:Invoke",
        "Effect": "Allow" if user_id else "Deny",
        "Resource": event["methodArn"],
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    return {
        "principalId": user_id or "nobody",
        "policyDocument": policy,
        "context": {"user_id": user_id} if user_id else {},
    }
