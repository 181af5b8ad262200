"""What a client of the HTTP API does, as calls; requests reach the real handler as API Gateway's events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from on_http import api


@dataclass(frozen=True)
class Answer:
    """What the HTTP handler answered."""

    status: int
    body: Any
    text: str

    @property
    def error(self) -> str | None:
        """The ``type`` of an error answer."""
        return self.body["error"]["type"] if isinstance(self.body, dict) and "error" in self.body else None


def http_event(
    method: str,
    path: str,
    *,
    body: str | None = None,
    user: str | None = "dev",
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, Any] | None = None,
    parameters: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The event of payload format 2.0 for a request of a user whose token API Gateway accepted."""
    http = {
        "method": method,
        "path": path,
        "protocol": "HTTP/1.1",
        "sourceIp": "203.0.113.7",
        "userAgent": "",
    }
    context: dict[str, Any] = {"http": http, "stage": "$default", "requestId": "test", "routeKey": "$default"}
    if user is not None:
        context["authorizer"] = {"jwt": {"claims": {"sub": user}, "scopes": None}}
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": urlencode(query or {}),
        "headers": {"content-type": "application/json", **(headers or {})},
        "requestContext": context,
        "isBase64Encoded": False,
    }
    if query:
        event["queryStringParameters"] = {name: str(value) for name, value in query.items()}
    if parameters:
        event["pathParameters"] = dict(parameters)
    if body is not None:
        event["body"] = body
    return event


class Client:
    """Asks in one project, as the user ``dev`` unless told otherwise. ``answers`` keeps every body answered."""

    project: str
    answers: list[str]

    def request(
        self, method: str, path: str, *, body: Any = None, raw: str | None = None, **options: Any
    ) -> Answer:
        """One request; ``body`` is sent as JSON, ``raw`` as it is; ``options`` are ``http_event``'s."""
        text = raw if raw is not None else None if body is None else json.dumps(body)
        event = http_event(method, path, body=text, **options)
        result = api.handler(json.loads(json.dumps(event)), None)
        self.answers.append(result["body"])
        return Answer(result["statusCode"], _read(result["body"]), result["body"])

    def of_project(self, path: str) -> str:
        """A path below the project."""
        return f"/api/projects/{self.project}{path}"

    def of_thread(self, thread: str, path: str = "") -> str:
        """A path below a thread."""
        return self.of_project(f"/chat-threads/{thread}{path}")

    def get(self, path: str, **query: Any) -> Any:
        """The body of a GET that must succeed."""
        answer = self.request("GET", path, query=query)
        assert answer.status == 200, answer.text
        return answer.body

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        """The body of a POST that must succeed."""
        answer = self.request("POST", path, body=body, **options)
        assert answer.status == 200, answer.text
        return answer.body

    def start(self, message: str, agent: str = "general-assistant", **fields: Any) -> str:
        """Open a thread; its id."""
        accepted = self.post(self.of_project(f"/agents/{agent}/chat"), {"message": message, **fields})
        return str(accepted["thread_id"])

    def say(self, thread: str, message: str, **fields: Any) -> str:
        """Send a message to a thread; its id."""
        return str(self.post(self.of_thread(thread), {"message": message, **fields})["message_id"])

    def decide(
        self, proposal: Mapping[str, Any] | str, approved: bool, *, user: str = "dev", **fields: Any
    ) -> Any:
        """Decide a proposal (as ``pending`` gave it, or by its id); the answer's body."""
        proposal_id = proposal if isinstance(proposal, str) else proposal["proposal_id"]
        return self.post(f"/confirmations/{proposal_id}", {"approved": approved, **fields}, user=user)

    def cancel(self, thread: str) -> bool:
        """Ask the turn to stop."""
        return bool(self.post(self.of_thread(thread, "/cancel"))["cancelled"])

    def status(self, thread: str) -> Any:
        """The thread as it stands."""
        return self.get(self.of_thread(thread))

    def events(self, thread: str, *, page: int = 1000) -> list[dict[str, Any]]:
        """The whole log, page by page."""
        found: list[dict[str, Any]] = []
        while True:
            answer = self.get(self.of_thread(thread, "/events"), after=len(found), limit=page)
            found += answer["events"]
            if len(answer["events"]) < page:
                return found

    def messages(self, thread: str, subthread: str | None = None) -> list[dict[str, Any]]:
        """The messages that a person sees, of the root or of one subthread."""
        query = {"subthread": subthread} if subthread else {}
        return list(self.get(self.of_thread(thread, "/messages"), **query)["messages"])

    def runs(self, thread: str) -> list[dict[str, Any]]:
        """The chain of runs."""
        return list(self.get(self.of_thread(thread, "/runs"))["runs"])


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
