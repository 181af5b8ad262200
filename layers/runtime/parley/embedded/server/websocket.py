"""WebSockets on the embedded server: `/ws`, as API Gateway's WebSocket API would serve it.

A connection is authorized, connected, read one message at a time and disconnected, each through the handler
that the deployed functions use. `?ticket=` goes to the Lambda authorizer; `?token=`, a JWT, is there on the
embedded server only and checked by its issuer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any

from parley.domain.errors import ParleyError, StorageError
from parley.embedded import gateway_socket
from parley.embedded.gateway import query_parameters
from parley.embedded.gateway_socket import Handshake, SocketEvents
from parley.embedded.server.contracts import Handler, InvocationContext, Service
from parley.embedded.server.http import Receive, Scope, Send, deny
from parley.embedded.server.workers import Workers
from parley.embedded.sockets import SocketConnection
from parley.turns.ports import ConnectionGone

_log = logging.getLogger("parley.server")


class _Refused(Exception):
    """The handshake ends with this HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class SocketServer:
    """Serves the connections of one hub."""

    def __init__(self, service: Service, workers: Workers) -> None:
        self._hub = service.hub
        self._issuer = service.issuer
        self._handlers = service.handlers
        self._now = service.now
        self._workers = workers

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection, as an ASGI application."""
        await receive()  # websocket.connect
        events = SocketEvents(gateway_socket.new_connection_id(), self._handshake(scope))
        try:
            await self._admit(scope, events)
        except _Refused as refused:
            await deny(send, refused.status, refused.message)
            return
        connection = self._hub.open(events.connection_id, asyncio.get_running_loop().time())
        code, reason = 1006, "Connection lost"
        try:
            await send({"type": "websocket.accept"})
            code, reason = await self._converse(connection, events, receive, send)
        finally:
            self._hub.forget(connection)
            with suppress(Exception):  # logged; the connection has gone all the same
                await self._invoke(self._handlers.socket, events.disconnect(code, reason))

    def _handshake(self, scope: Scope) -> Handshake:
        return Handshake(
            query=scope["query_string"].decode("latin-1"),
            headers=[(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]],
            client_ip=(scope.get("client") or ("",))[0],
            connected_at=self._now(),
        )

    async def _admit(self, scope: Scope, events: SocketEvents) -> None:
        """Authorize and connect. Raises _Refused with the status that API Gateway would answer."""
        if scope["path"] != "/ws":
            raise _Refused(404, "Not Found")
        parameters = query_parameters(scope["query_string"].decode("latin-1"))
        try:
            events.admit(await self._authorize(parameters, events))
            status = gateway_socket.refusal_status(
                await self._invoke(self._handlers.socket, events.connect())
            )
        except _Refused:
            raise
        except StorageError as error:
            raise _Refused(503, "Service Unavailable") from error
        except Exception as error:
            raise _Refused(500, "Internal Server Error") from error
        if status is not None:
            raise _Refused(status, "Forbidden")

    async def _authorize(self, parameters: dict[str, str], events: SocketEvents) -> dict[str, Any]:
        if "ticket" in parameters:
            try:
                admitted = gateway_socket.admission(
                    await self._invoke(self._handlers.authorize, events.authorize(), quiet="Unauthorized")
                )
            except Exception as error:
                # "Unauthorized" is how a Lambda authorizer says 401; anything else is its own failure.
                if str(error) == "Unauthorized":
                    raise _Refused(401, "Unauthorized") from error
                raise
            if admitted is None:
                raise _Refused(403, "Forbidden")
            return admitted
        try:
            subject = self._issuer.verify(parameters.get("token", ""))["sub"]
        except ParleyError as error:
            raise _Refused(401, "Unauthorized") from error
        return {"principalId": subject, "user_id": subject}

    async def _converse(
        self, connection: SocketConnection, events: SocketEvents, receive: Receive, send: Send
    ) -> tuple[int, str]:
        """Read and write until either side ends it; returns the code and reason of the end."""

        async def send_frame(frame: str) -> None:
            connection.active_at = asyncio.get_running_loop().time()
            await send({"type": "websocket.send", "text": frame})

        reader = asyncio.ensure_future(self._read(connection, events, receive))
        writer = asyncio.ensure_future(connection.send_frames(send_frame))
        done, pending = await asyncio.wait({reader, writer}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        # Looked at whoever came first: a failure that nobody asks for is reported by asyncio, with its traceback.
        broke = not writer.cancelled() and writer.exception() is not None
        if reader in done:
            return reader.result()
        if broke:  # under a frame
            return 1006, "Connection lost"
        close = writer.result()
        with suppress(Exception):  # the client was quicker
            await send({"type": "websocket.close", "code": close.code, "reason": close.reason})
        return close.code, close.reason

    async def _read(
        self, connection: SocketConnection, events: SocketEvents, receive: Receive
    ) -> tuple[int, str]:
        """Hand on messages, each when the one before is done, until the client has gone."""
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return message.get("code") or 1005, message.get("reason") or ""
            connection.active_at = asyncio.get_running_loop().time()
            text = message.get("text")
            if text is None:
                connection.close(gateway_socket.BINARY_REFUSED)
                continue
            event = events.message(text)
            try:
                await self._invoke(self._handlers.socket, event)
            except Exception:  # noqa: BLE001 - logged; API Gateway tells the client and keeps the connection
                self._tell_broken(event)

    def _tell_broken(self, event: dict[str, Any]) -> None:
        context = event["requestContext"]
        answer = {
            "message": "Internal server error",
            "connectionId": context["connectionId"],
            "requestId": context["requestId"],
        }
        with suppress(ConnectionGone):
            self._hub.post(context["connectionId"], json.dumps(answer))

    async def _invoke(self, handler: Handler, event: dict[str, Any], *, quiet: str = "") -> object:
        """Run a handler in a thread; what it raises is logged, unless that is how it says no."""
        context = InvocationContext("on_socket", event["requestContext"]["requestId"])
        try:
            return await self._workers.run(lambda: handler(event, context))
        except StorageError as error:
            _log.error("%s failed: %s", event["requestContext"]["routeKey"], error)
            raise
        except Exception as error:
            if not quiet or str(error) != quiet:
                _log.exception("%s failed", event["requestContext"]["routeKey"])
            raise
