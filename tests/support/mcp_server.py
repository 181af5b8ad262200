"""A real MCP server on a real socket, as the package that Parley's client comes from makes one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ImageContent, ResourceLink, TextContent, ToolAnnotations
from pydantic import Field
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.waiting import wait_until

READS = ToolAnnotations(read_only_hint=True)


@dataclass
class ToolServer:
    """Where it is, and what it saw: headers of every request, ``_meta`` and key of every call of ``order``."""

    url: str = ""
    headers: list[dict[str, str]] = field(default_factory=list)
    ordered: list[dict[str, Any]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    held: threading.Event = field(default_factory=threading.Event)
    token: str | None = None
    """The bearer token that it wants, if it wants one."""
    older: bool = False
    """Whether it knows nothing of the newest protocol, and wants the handshake and sessions of those before."""
    methods: list[str] = field(default_factory=list)
    closing: ASGIApp | None = None
    """What answers the end of a session, if it is not the server itself."""


def _server(seen: ToolServer) -> MCPServer:
    server = MCPServer("Shop")

    @server.tool(annotations=READS)
    def weather(city: str, days: int = 1) -> str:
        """Tells the weather of a city."""
        return f"{city}: sun for {days} days"

    @server.tool()
    def order(item: str, count: int, context: Context) -> dict[str, Any]:
        """Orders something."""
        meta = context.request_context.meta or {}
        seen.ordered.append({"item": item, "count": count, "key": meta.get("parley/idempotency-key")})
        return {"order": 7, "item": item}

    @server.tool(
        annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True), name="files/delete.all"
    )
    def delete(path: str) -> str:
        """Deletes everything."""
        return f"{path} is gone"

    @server.tool(annotations=READS)
    def refuse(why: str) -> str:
        """Says no."""
        raise ToolError(f"No, for {why}.")

    @server.tool(annotations=READS)
    def crash() -> str:
        """Breaks."""
        raise ZeroDivisionError("password=hunter2")

    @server.tool(annotations=READS, structured_output=False)
    def show() -> list[Any]:
        """Answers in several kinds."""
        return [
            TextContent(text="First."),
            ImageContent(data="aGk=", mime_type="image/png"),
            ResourceLink(name="report", uri="https://example.com/report"),
            TextContent(text="Last."),
        ]

    @server.tool(annotations=READS)
    def large(size: int) -> str:
        """Says much."""
        return "x" * size

    @server.tool(annotations=READS)
    def routed(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        """Wants an argument in a header as well, for whoever stands in between."""
        return f"routed by {region}"

    @server.tool(annotations=READS)
    def wait() -> str:
        """Takes its time."""
        seen.held.set()
        seen.hold.wait(120)
        return "waited"

    return server


def _watched(app: ASGIApp, seen: ToolServer) -> ASGIApp:
    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
            seen.headers.append(headers)
            seen.methods.append(scope["method"])
            if seen.older and headers.get("mcp-method") == "server/discover":
                await JSONResponse({}, 404)(scope, receive, send)
                return
            if scope["method"] == "DELETE" and seen.closing is not None:
                await seen.closing(scope, receive, send)
                return
            if seen.token and headers.get("authorization") != f"Bearer {seen.token}":
                await JSONResponse({"error": "who are you?"}, 401)(scope, receive, send)
                return
        await app(scope, receive, send)

    return watched


@contextmanager
def tool_server(*, json_response: bool = False, stateless: bool = False) -> Iterator[ToolServer]:
    """The server, listening until the block ends."""
    seen = ToolServer()
    app = _server(seen).streamable_http_app(json_response=json_response, stateless_http=stateless)
    config = uvicorn.Config(
        _watched(app, seen), host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive(), what="the MCP server listens")
    port = server.servers[0].sockets[0].getsockname()[1]
    seen.url = f"http://127.0.0.1:{port}/mcp"
    try:
        yield seen
    finally:
        seen.hold.set()
        server.should_exit = True
        thread.join(120)
