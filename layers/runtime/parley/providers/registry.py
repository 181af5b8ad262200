"""The providers of an installation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import httpx

from parley.clock import SystemClock
from parley.domain.errors import ProviderNotConfigured
from parley.providers.bedrock import BedrockProvider, ConverseClient
from parley.providers.endpoints import Endpoint, endpoints
from parley.providers.http import HttpProvider, TimeLimits, make_client
from parley.providers.scripted import ScriptedProvider
from parley.providers.text_replies import TextReplies
from parley.turns.model_ports import Provider
from parley.turns.ports import Secrets


class ProviderRegistry:
    """Implements the Providers port: all rows of ``endpoints``, Bedrock, and the scripted provider.

    ``transport`` stands in for the network, ``bedrock`` for boto3's client, ``sleep`` for real waiting. One HTTP
    client serves all rows; it and boto3's are made when the first call needs them. ``rows`` instead of those of
    ``endpoints``: for an installation that has providers of its own.
    """

    def __init__(
        self,
        secrets: Secrets,
        *,
        transport: httpx.BaseTransport | None = None,
        bedrock: ConverseClient | None = None,
        sleep: Callable[[float], None] | None = None,
        limits: TimeLimits | None = None,
        rows: Sequence[Endpoint] | None = None,
    ) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._http: httpx.Client | None = None
        sleep = sleep or SystemClock().sleep
        self._bedrock = BedrockProvider(secrets, client=bedrock, limits=limits)
        providers: list[Provider] = [
            HttpProvider(row, secrets, self._client, limits=limits, sleep=sleep)
            for row in (endpoints() if rows is None else rows)
        ]
        providers += [self._bedrock, ScriptedProvider(sleep)]
        self._providers = {provider.name: TextReplies(provider) for provider in providers}

    def get(self, name: str) -> Provider:
        """The provider, whether it is configured or not; see the port."""
        try:
            return self._providers[name]
        except KeyError:
            known = ", ".join(self.names())
            raise ProviderNotConfigured(f"there is no provider {name!r}; there are: {known}") from None

    def names(self) -> Sequence[str]:
        """All names, sorted."""
        return sorted(self._providers)

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        self._bedrock.close()
        with self._lock:
            if self._http is not None:
                self._http.close()
                self._http = None

    def _client(self) -> httpx.Client:
        with self._lock:
            if self._http is None:
                self._http = make_client(self._transport)
            return self._http
