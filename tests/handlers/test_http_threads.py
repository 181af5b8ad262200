"""The HTTP handler under many threads, as the embedded server calls it: nobody is answered as somebody else."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import on_http.api
from parley import wiring
from parley.turns import accept_message
from parley.turns.accept_message import MessageAccepted


def request(method: str, path: str, user: str, body: Any = None) -> dict[str, Any]:
    return {
        "version": "2.0",
        "routeKey": f"{method} {path}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json"},
        "requestContext": {
            "http": {"method": method, "path": path},
            "stage": "$default",
            "authorizer": {"jwt": {"claims": {"sub": user}, "scopes": None}},
        },
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }


def test_requests_that_are_answered_at_once_each_see_their_own_caller_path_and_body(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = threading.Barrier(8)

    def continue_thread(runtime: Any, user: str, project: str, thread: str, message: Any) -> Any:
        together.wait(120)  # all eight are inside the resolver now
        return MessageAccepted(thread_id=f"{user} {project} {thread}", message_id=message.message)

    monkeypatch.setattr(accept_message, "continue_thread", continue_thread)
    monkeypatch.setattr(wiring, "runtime", lambda: None)

    def ask(number: int) -> tuple[str, str]:
        path = f"/api/projects/p{number}/chat-threads/t{number}"
        answer = on_http.api.handler(request("POST", path, f"u{number}", {"message": f"m{number}"}), None)
        body = json.loads(answer["body"])
        return body["thread_id"], body["message_id"]

    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            answers = list(pool.map(ask, range(8)))
            assert answers == [(f"u{number} p{number} t{number}", f"m{number}") for number in range(8)]
