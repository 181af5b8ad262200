"""Functions that are Lambdas: the event they get, and their result in words."""

from __future__ import annotations

import json

from parley.domain.remote_functions import LambdaFunction
from parley.tools.answers import LARGEST_ANSWER, Unanswered, read_json
from parley.turns.function_ports import FunctionOutcome, LambdaFailed, LambdaInvoker, RemoteCall


def call_lambda(function: LambdaFunction, call: RemoteCall, invoker: LambdaInvoker) -> FunctionOutcome:
    """The result. Raises Unanswered."""
    event = {
        "function": call.name,
        "arguments": call.arguments,
        "idempotency_key": call.idempotency_key,
        "context": {
            "user_id": call.user_id,
            "project_id": call.project_id,
            "agent_id": call.agent_id,
            "thread_id": call.thread_id,
        },
    }
    payload = json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    try:
        result = invoker.invoke(function.function, payload, call.seconds)
    except LambdaFailed as failed:
        raise Unanswered(str(failed), ran=failed.ran) from None
    if len(result) > LARGEST_ANSWER:
        raise Unanswered(f"answered with more than {LARGEST_ANSWER:,} bytes")
    return read_json(result or b"null")
