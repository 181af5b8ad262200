"""Functions that are tools of an MCP server, over streamable HTTP by the official client.

Loaded by the first call that needs it: the client's package takes a second to import and brings a server with it.
Each call is a session of its own: what a Lambda froze or another call broke is nobody else's trouble.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    EmbeddedResource,
    RequestParamsMeta,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from pydantic import ValidationError

from parley.domain.remote_functions import McpFunction
from parley.tools.answers import LARGEST_ANSWER, NOTHING_SAID, NotReached, Unanswered
from parley.tools.hosts import HostRefused, HostRules
from parley.tools.http_calls import CONNECT_SECONDS, secret_header
from parley.tools.mcp_transport import GuardedAsyncTransport
from parley.tools.results import clean_content, clean_data
from parley.turns.function_ports import FunctionOutcome, RemoteCall

_CLIENTS_OWN = frozenset({CONNECTION_CLOSED, INVALID_REQUEST, PARSE_ERROR, REQUEST_TIMEOUT})
"""Codes that the client itself gives to an answer that never came, or was none."""
IDEMPOTENCY_META = "parley/idempotency-key"
MOST_TOOLS = 500
_CLOSING_SECONDS = 2.0
_LOG = logging.getLogger("parley.functions")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Tool:
    """What a server tells of a tool. ``reads_only``: its annotations say that it changes nothing."""

    name: str
    description: str
    parameters: dict[str, Any]
    reads_only: bool


def call_tool(
    function: McpFunction, call: RemoteCall, secret: str | None, hosts: HostRules
) -> FunctionOutcome:
    """The tool's result. Raises Unanswered, and NotReached for what may be tried again."""

    async def ask(client: Client) -> CallToolResult:
        # The session's own call_tool would list all tools first and hold the result against the tool's schema: a
        # function that has acted must not be told as failed for the form of its answer.
        meta = cast("RequestParamsMeta", {IDEMPOTENCY_META: call.idempotency_key})
        params = CallToolRequestParams(name=function.tool, arguments=call.arguments, _meta=meta)
        request = CallToolRequest(params=params)
        try:
            return await client.session.send_request(request, CallToolResult)
        except MCPError as error:
            if error.code != HEADER_MISMATCH:
                raise
        # This server wants arguments repeated in headers, as its list of tools says.
        await client.list_tools()
        return await client.session.send_request(request, CallToolResult)

    return _outcome(_run(function, secret, hosts, call.seconds, ask))


def list_tools(function: McpFunction, secret: str | None, hosts: HostRules, seconds: float) -> list[Tool]:
    """All tools of the server. Raises Unanswered."""

    async def ask(client: Client) -> list[Tool]:
        found: list[Tool] = []
        cursor: str | None = None
        while len(found) < MOST_TOOLS:
            page = await client.list_tools(cursor=cursor)
            found += [
                Tool(
                    name=tool.name,
                    description=tool.description or tool.title or "",
                    parameters=dict(tool.input_schema),
                    reads_only=bool(tool.annotations and tool.annotations.read_only_hint),
                )
                for tool in page.tools
            ]
            cursor = page.next_cursor
            if not cursor:
                break
        return found

    return _run(function, secret, hosts, seconds, ask)


def _run(
    function: McpFunction,
    secret: str | None,
    hosts: HostRules,
    seconds: float,
    ask: Callable[[Client], Awaitable[_T]],
) -> _T:
    """One session with the server, in an event loop of this thread's own. Raises Unanswered.

    An answer that has come is the answer, whatever becomes of the session's end.
    """
    transport = GuardedAsyncTransport(hosts, LARGEST_ANSWER)
    answers: list[_T] = []

    async def session() -> None:
        async with asyncio.timeout(seconds) as limit, _client(function, secret, transport, seconds) as client:
            answers.append(await ask(client))
            limit.reschedule(asyncio.get_running_loop().time() + _CLOSING_SECONDS)

    try:
        asyncio.run(session())
    except Exception as error:  # noqa: BLE001 - the client raises of everything, each told by its kind
        if not answers:
            raise _unanswered(_first(error), transport, seconds) from None
        _LOG.warning("an MCP session did not end well: %s", type(_first(error)).__name__)
    return answers[0]


@asynccontextmanager
async def _client(
    function: McpFunction, secret: str | None, transport: GuardedAsyncTransport, seconds: float
) -> AsyncIterator[Client]:
    headers = {"user-agent": "parley", **secret_header(function.secret_header, secret)}
    timeout = httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds))
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=transport) as http,
        Client(streamable_http_client(function.url, http_client=http), cache=None) as client,
    ):
        yield client


def _first(error: BaseException) -> BaseException:
    """What failed inside, which every task group on its way out has wrapped once more."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _unanswered(error: BaseException, transport: GuardedAsyncTransport, seconds: float) -> Unanswered:
    """In words, by what the transport saw: the client tells of an HTTP status and of a lost stream alike."""
    match error:
        case Unanswered():
            return error
        case HostRefused():
            return Unanswered(str(error), ran=False)
        case TimeoutError() | httpx2.TimeoutException() if transport.connected:
            return Unanswered(f"did not answer within {seconds:g} s")
        case httpx2.ConnectError() | httpx2.TimeoutException() | TimeoutError():
            return NotReached()
        case httpx2.HTTPError():
            return Unanswered("broke the connection off before it answered")
        case MCPError(code=code) if code == INVALID_PARAMS:
            return Unanswered(f"refused the call: {clean_content(error.message)[:500]}", ran=False)
        case ValidationError():
            return Unanswered(
                "gave an answer that no MCP server gives, or asks for more than Parley can give it"
            )
        case _:
            _LOG.warning("an MCP server failed: %s", type(error).__name__)
            return _unknown(error, transport.refused_with)


def _unknown(error: BaseException, status: int | None) -> Unanswered:
    if status is not None:
        return Unanswered(f"answered {status}", ran=status >= 500)
    if isinstance(error, MCPError) and error.code not in _CLIENTS_OWN:
        return Unanswered(f"answered with error {error.code}")
    return Unanswered("failed: its server did not answer as an MCP server does")


def _outcome(result: CallToolResult) -> FunctionOutcome:
    """Texts joined by empty lines; what a model cannot read is named. Structured content goes beside it."""
    structured = result.structured_content
    texts = [text for block in result.content if (text := _text(block))]
    if not texts and structured is not None:
        texts = [json.dumps(structured, ensure_ascii=False)]
    data = clean_data({} if structured is None else {"structured_content": structured})
    content = clean_content("\n\n".join(texts)) or NOTHING_SAID
    return FunctionOutcome(content, not result.is_error, data)


def _text(block: Any) -> str:
    match block:
        case TextContent(text=text):
            return text
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case EmbeddedResource(resource=resource):
            return f"[{resource.mime_type or 'a file'} at {resource.uri}, not shown]"
        case ResourceLink(uri=uri, name=name):
            return f"[{name}: {uri}]"
        case _:
            return f"[{getattr(block, 'mime_type', None) or getattr(block, 'type', 'something')}, not shown]"
