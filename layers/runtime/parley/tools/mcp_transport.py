"""The MCP client's way to the network: hosts by our rules, answers no larger than we keep, and what went wrong."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from functools import cache
from typing import Any, cast

import httpx2

from parley.tools.answers import Unanswered
from parley.tools.hosts import HostRules


@cache
def tls_context() -> ssl.SSLContext:
    """As in ``http_calls``, by the client's own rules."""
    return httpx2.create_ssl_context()


class GuardedAsyncTransport(httpx2.AsyncBaseTransport):
    """As ``http_calls.GuardedTransport``, for the client that MCP brings.

    ``connected``: whether a server has taken a connection. ``refused_with``: the status of its last error, which the
    MCP client does not tell.
    """

    def __init__(self, hosts: HostRules, largest: int) -> None:
        self._hosts = hosts
        self._largest = largest
        self._inner = httpx2.AsyncHTTPTransport(verify=tls_context())
        self.connected = False
        self.refused_with: int | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request. Raises HostRefused."""
        request.extensions = {**request.extensions, "trace": self._trace}
        response = await self._send(request)
        # 404, 405 and 400 are how older servers say no to what newer ones have: the client goes on from there.
        self.refused_with = response.status_code if response.status_code >= 300 else None
        stream = cast("httpx2.AsyncByteStream", response.stream)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Limited(stream, self._largest),
            extensions=response.extensions,
        )

    async def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            self.connected = True

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        if self._hosts.open:
            return await self._inner.handle_async_request(request)
        named = request.url
        host, port = named.raw_host.decode("ascii"), named.port or 443
        try:
            addresses = await asyncio.to_thread(self._hosts.addresses, host, port)
        except OSError as error:
            raise httpx2.ConnectError(f"the name was not found ({type(error).__name__})") from None
        request.extensions = {**request.extensions, "sni_hostname": host}
        try:
            for address in addresses[:-1]:
                request.url = named.copy_with(host=address)
                try:
                    return await self._inner.handle_async_request(request)
                except (httpx2.ConnectError, httpx2.ConnectTimeout):
                    continue
            request.url = named.copy_with(host=addresses[-1])
            return await self._inner.handle_async_request(request)
        finally:
            request.url = named  # what redirects and messages go by

    async def aclose(self) -> None:
        """Close what is open."""
        await self._inner.aclose()


class _Limited(httpx2.AsyncByteStream):
    """A body that may not be larger than is kept of it."""

    def __init__(self, inner: httpx2.AsyncByteStream, largest: int) -> None:
        self._inner = inner
        self._left = largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._left -= len(part)
            if self._left < 0:
                raise Unanswered("answered with more than is read of an answer")
            yield part

    async def aclose(self) -> None:
        """Close what is behind."""
        await self._inner.aclose()
