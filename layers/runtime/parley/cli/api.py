"""The HTTP API from the client's side: requests, retries, and errors in plain words.

Every request made here may be sent twice without harm (a message carries its client id, a decision names its
proposal), so a connection that breaks is tried again. A DELETE that was sent twice may say that there is no such thing.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx

from parley.cli.failure import CommandFailed, Refused, Unreachable
from parley.tools.hosts import on_this_machine

_PAUSES = (0.2, 0.5, 1.0, 2.0, 3.0, 3.0)
_TRY_AGAIN = {502, 503, 504}


class Api:
    """A server's API as one user. Thread-safe, as httpx's client is.

    ``moved`` says where the server is now that does not answer at an address any more, if that is known; ``works``,
    whether conversations go on in it.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        transport: httpx.BaseTransport | None = None,
        moved: Callable[[str], str | None] = lambda url: None,
        works: Callable[[], bool] = lambda: True,
    ) -> None:
        self.works = works
        self.url = url.rstrip("/")
        self._moved = moved
        try:
            self._client = httpx.Client(
                headers={"authorization": f"Bearer {token}"},
                timeout=httpx.Timeout(40.0, connect=5.0),
                transport=transport,
                trust_env=not on_this_machine(url),
            )
        except (ImportError, ValueError) as error:
            raise CommandFailed(f"the environment's proxy cannot be used: {error}") from error
        self.user = _subject(token)
        # Until the server was reached once, its absence is an answer; after that it is an interruption.
        self._reached = False

    def close(self) -> None:
        self._client.close()

    def get(self, path: str, **parameters: str | float) -> dict[str, Any]:
        """A GET's JSON object."""
        return self._send("GET", path, params=parameters)

    def post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """A POST's JSON object."""
        return self._send("POST", path, json={} if body is None else body)

    def put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """A PUT's JSON object."""
        return self._send("PUT", path, json=body)

    def delete(self, path: str) -> dict[str, Any]:
        """A DELETE's JSON object."""
        return self._send("DELETE", path)

    def say(self, path: str, message: str, *, predefined: bool = False, **terms: int) -> dict[str, Any]:
        """Send a message to an agent's `/chat` or to a thread: its `thread_id` and `message_id`.

        `predefined`: the message is the id of one of the agent's predefined messages.
        """
        kind = "predefined_message" if predefined else "message"
        body = {kind: message, "client_message_id": str(uuid.uuid4()), **terms}
        return self._send("POST", path, json=body)

    def pages(self, path: str, key: str, **parameters: str | int) -> Iterator[dict[str, Any]]:
        """All entries of a list that comes in pages."""
        cursor: dict[str, str | int] = {}
        while True:
            page = self.get(path, **parameters, **cursor)
            yield from page[key]
            if not page.get("next"):
                return
            cursor = {"cursor": page["next"]}

    def _send(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        for pause in (*_PAUSES, None):
            try:
                response = self._client.request(method, self.url + path, **options)
            except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
                raise CommandFailed(f"{self.url} is no address of a server", status=2) from error
            except httpx.TransportError as error:
                if pause is None or not self._reached:
                    raise Unreachable(
                        f"no answer from {self.url} ({_words(error)}); is the server running?"
                    ) from error
                self.url = self._moved(self.url) or self.url
            else:
                self._reached = True
                if response.status_code not in _TRY_AGAIN or pause is None:
                    return self._read(response)
            threading.Event().wait(pause)
        raise AssertionError("the last try returned or raised")

    def _read(self, response: httpx.Response) -> dict[str, Any]:
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if response.is_success and isinstance(answer, dict):
            return answer
        if response.status_code == httpx.codes.UNAUTHORIZED:
            raise Refused(f"{self.url} refused the token; `parley token` prints a new one", 401)
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            error = answer["error"]
            raise Refused(str(error.get("message")), response.status_code, str(error.get("type")))
        detail = answer.get("message") if isinstance(answer, dict) else None
        raise Refused(
            f"{self.url} answered {response.status_code} {detail or response.reason_phrase}",
            response.status_code,
        )


class Thread:
    """The paths of one thread."""

    def __init__(self, project: str, thread_id: str) -> None:
        self.thread_id = thread_id
        self.path = f"/api/projects/{segment(project)}/chat-threads/{segment(thread_id)}"

    def __truediv__(self, part: str) -> str:
        return f"{self.path}/{part}"


def segment(text: str) -> str:
    """Text as one segment of a path."""
    return quote(text, safe="")


def _subject(token: str) -> str:
    """Who a token speaks for. Only read, not checked: that is the server's business."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return str(claims["sub"])
    except (IndexError, ValueError, KeyError, TypeError):
        return ""


def _words(error: httpx.TransportError) -> str:
    if isinstance(error, httpx.ConnectError):
        words = re.sub(r"^\[Errno -?\d+\] ", "", str(error))
        return "connection refused" if "refused" in words.lower() else words
    if isinstance(error, httpx.TimeoutException):
        return "timed out"
    return str(error) or type(error).__name__
