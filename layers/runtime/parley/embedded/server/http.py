"""HTTP on the embedded server: the page, the issuer's documents, and the API through its gateway."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from parley.domain.errors import ParleyError, Refusal, StorageError
from parley.embedded import gateway
from parley.embedded.gateway import Gateway, HttpAnswer, HttpRequest
from parley.embedded.gateway_routes import Routes
from parley.embedded.issuer import OPERATOR_AUDIENCE
from parley.embedded.server.contracts import InvocationContext, Service
from parley.embedded.server.pages import Pages
from parley.embedded.server.workers import Workers

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

MEMBERS_PATH = "/.well-known/parley-members"
IMPORT_PATH = "/.well-known/parley-import"
WORKERS = 4
WAITERS = 64
LONGEST_WAIT = 20.0
PUT_OFF_RATE = 50.0
"""Answers per second to those who would wait when all waiters are busy."""
_log = logging.getLogger("parley.server")
access_log = logging.getLogger("parley.access")


class HttpServer:
    """Answers HTTP requests. Those that wait for events have threads of their own and starve no others."""

    def __init__(self, service: Service, workers: Workers) -> None:
        self._issuer = service.issuer
        self._handler = service.handlers.http
        self._operations: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            MEMBERS_PATH: lambda wanted: _enroll(service, wanted),
            IMPORT_PATH: lambda wanted: _import(service, wanted),
        }
        self._pages = Pages(service.pages)
        self._gateway = Gateway(
            Routes(service.routes),
            service.issuer.verify,
            public=service.public,
            cors=service.cors,
            now=service.now,
        )
        self._workers = workers
        self._waiters = Workers("parley-wait", WAITERS)
        self._put_off = 0

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as an ASGI application."""
        begun = asyncio.get_running_loop().time()
        body = await _body(receive, scope["headers"])
        answer = gateway.TOO_LARGE if body is None else await self._answer(_request(scope, body))
        if access_log.isEnabledFor(logging.INFO):
            milliseconds = (asyncio.get_running_loop().time() - begun) * 1000
            access_log.info("%s %s %s %.1f ms", scope["method"], scope["path"], answer.status, milliseconds)
        await _send(answer, send, without_body=scope["method"] == "HEAD")

    def stop(self) -> None:
        """Let the threads end."""
        self._waiters.stop()

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        headers = gateway.joined_headers(request.headers)
        page = self._pages.answer(request.method, unquote(request.raw_path), headers)
        if page is not None:
            return page
        if request.method == "GET" and request.raw_path.startswith("/.well-known/"):
            document = self._document(request.raw_path, f"{request.scheme}://{headers.get('host', '')}")
            if document is not None:
                return gateway.http_answer(document)
        if request.method == "POST" and request.raw_path in self._operations:
            return await self._operate(request, headers, self._operations[request.raw_path])
        event = self._gateway.receive(request)
        if isinstance(event, HttpAnswer):
            return self._gateway.allow_origin(request, event)
        answer = await self._invoke(event)
        answer = self._gateway.answer(request, answer) if not isinstance(answer, HttpAnswer) else answer
        return HttpAnswer(
            answer.status,
            [*answer.headers, ("apigw-requestid", event["requestContext"]["requestId"])],
            answer.body,
        )

    async def _invoke(self, event: dict[str, Any]) -> object:
        context = InvocationContext("on_http", event["requestContext"]["requestId"])
        workers = await self._workers_for(event)
        try:
            async with asyncio.timeout(gateway.INTEGRATION_SECONDS):
                return await workers.run(lambda: self._handler(event, context))
        except TimeoutError:
            return gateway.UNAVAILABLE
        except Exception:  # noqa: BLE001 - logged; the caller gets what API Gateway would say
            _log.exception("%s failed", event["routeKey"])
            return gateway.BROKEN

    async def _workers_for(self, event: dict[str, Any]) -> Workers:
        """Where a request runs.

        One that would wait while all waiters are busy is answered after a moment with what there is: `wait`
        is an upper bound. The more of those there are the longer the moment, so that their coming back at once
        leaves the workers to others.
        """
        parameters = event.get("queryStringParameters", {})
        wait = _seconds(parameters.get("wait", "0"))
        if not 0 < wait <= LONGEST_WAIT:  # none, or one that the handler refuses
            return self._workers
        if not self._waiters.busy:
            return self._waiters
        self._put_off += 1
        try:
            await asyncio.sleep(min(wait, max(1.0, self._put_off / PUT_OFF_RATE)))
        finally:
            self._put_off -= 1
        parameters["wait"] = "0"
        return self._workers

    async def _operate(
        self,
        request: HttpRequest,
        headers: dict[str, str],
        operation: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> HttpAnswer:
        """What an operator asks: those who can sign with the folder's key could write the folder anyway."""
        try:
            self._issuer.verify(gateway.bearer_token(headers), OPERATOR_AUDIENCE)
        except ParleyError as error:
            return gateway.unauthorized(str(error))
        try:
            return gateway.http_answer(await self._workers.run(lambda: operation(json.loads(request.body))))
        except Refusal as refusal:
            return gateway.own_answer(refusal.status, refusal.message)
        except StorageError as error:
            _log.error("%s: %s", request.raw_path, error)
            return gateway.own_answer(503, str(error))
        except (ValueError, KeyError, TypeError):
            return gateway.own_answer(400, "Bad Request")

    def _document(self, path: str, base_url: str) -> dict[str, Any] | None:
        if path == "/.well-known/jwks.json":
            return self._issuer.key_set()
        if path == "/.well-known/openid-configuration":
            return self._issuer.configuration(base_url)
        return None


def _enroll(service: Service, wanted: dict[str, Any]) -> dict[str, Any]:
    service.enroll(str(wanted["user"]), str(wanted["project"]), wanted.get("role"))
    return {}


def _import(service: Service, wanted: dict[str, Any]) -> dict[str, Any]:
    return service.import_session(wanted)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


async def _body(receive: Receive, headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """The whole body, or None as soon as it is known to be over the limit."""
    declared = next((value for name, value in headers if name == b"content-length"), b"0")
    if declared.isdigit() and int(declared) > gateway.MAX_BODY:
        return None
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":  # the client has gone: nobody reads the answer
            return b"".join(chunks)
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > gateway.MAX_BODY:
            return None
        chunks.append(chunk)
        if not message.get("more_body"):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _request(scope: Scope, body: bytes) -> HttpRequest:
    client = scope.get("client") or ("", 0)
    return HttpRequest(
        method=scope["method"],
        raw_path=scope["raw_path"].decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        headers=[(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]],
        body=body,
        client_ip=client[0],
        protocol=f"HTTP/{scope['http_version']}",
        scheme=scope["scheme"],
    )


async def _send(answer: HttpAnswer, send: Send, *, without_body: bool) -> None:
    headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in answer.headers]
    if answer.status not in {204, 304} and not any(name == b"content-length" for name, _ in headers):
        headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    body = b"" if without_body else answer.body
    await send({"type": "http.response.body", "body": body})


async def deny(send: Send, status: int, message: str) -> None:
    """Answer a WebSocket's handshake with an HTTP status instead of the upgrade."""
    body = json.dumps({"message": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})
