"""How a WebSocket connection of the embedded server ends when both sides do at once."""

from __future__ import annotations

import asyncio
import gc
from types import SimpleNamespace
from typing import Any, cast

from parley.embedded.server.contracts import Service
from parley.embedded.server.websocket import SocketServer
from parley.embedded.server.workers import Workers
from parley.embedded.sockets import SocketConnection


def test_a_client_that_leaves_under_a_frame_leaves_no_failure_behind() -> None:
    reported: list[dict[str, Any]] = []

    async def leave() -> dict[str, Any]:
        return {"type": "websocket.disconnect", "code": 1001, "reason": ""}

    async def send(_: dict[str, Any]) -> None:
        raise OSError("the client has gone")

    async def end() -> tuple[int, str]:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        service = SimpleNamespace(hub=None, issuer=None, handlers=None, now=lambda: 0.0)
        server = SocketServer(cast(Service, service), cast(Workers, None))
        connection = SocketConnection("c-1", 0.0)
        connection.take("a frame")
        code = await server._converse(connection, cast(Any, None), leave, send)
        gc.collect()
        return code

    assert asyncio.run(end())[0] == 1001
    gc.collect()
    assert reported == []
