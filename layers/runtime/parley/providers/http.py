"""Model providers over HTTP: which request a prompt becomes, and the reply over as many as its wire asks for.

What is said is the wire's business; how it is sent, and what a failure means, is in ``connection``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx

from parley.clock import SystemClock
from parley.domain.agents import Capabilities
from parley.domain.errors import (
    ProviderError,
    ProviderNotConfigured,
    ProviderRejectedRequest,
    ProviderTimeout,
)
from parley.prompts.prompt import Prompt
from parley.providers.connection import Connection, TimeLimits, make_client
from parley.providers.endpoints import Endpoint
from parley.providers.wire.protocol import FollowUp, Wire
from parley.providers.wire.sse import decode_lines
from parley.turns.model_ports import Delta, Finish
from parley.turns.ports import Secrets

__all__ = ["HttpProvider", "TimeLimits", "make_client"]

_CANCEL_SECONDS = 5.0


class HttpProvider:
    """A provider over HTTP: a row, the installation's settings and a shared client."""

    def __init__(
        self,
        endpoint: Endpoint,
        secrets: Secrets,
        client: Callable[[], httpx.Client],
        *,
        limits: TimeLimits | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        self.name = endpoint.name
        self._endpoint = endpoint
        self._connection = Connection(endpoint, secrets, client, limits=limits, monotonic=monotonic)
        self._sleep = sleep or SystemClock().sleep

    def capabilities(self) -> Capabilities:
        """The row's."""
        return self._endpoint.capabilities

    def is_configured(self) -> bool:
        """See ``Connection``."""
        return self._connection.is_configured()

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        """Call the model; see the port. The request is made when the first delta is asked for."""
        key = self._connection.key()
        try:
            wire, prompt = self._chosen_wire(prompt)
            yield from self._reply(wire, self._request(wire, prompt, key), key)
        except ProviderError as error:
            raise self._connection.named(error, key) from None

    def _reply(self, wire: Wire, request: httpx.Request, key: str) -> Iterator[Delta]:
        """The deltas of one reply, over as many requests as its wire asks for."""
        deadline = self._connection.deadline()
        first = request
        step: FollowUp | None = None
        ended = False
        try:
            while True:
                following: FollowUp | None = None
                with closing(self._connection.send(wire.decode_error, request, deadline)) as data:
                    for delta in wire.decode_stream(decode_lines(data)):
                        if isinstance(delta, FollowUp):
                            step = following = delta
                            continue
                        ended = isinstance(delta, Finish)
                        yield delta
                if following is None:
                    return
                request = self._next_request(first, following, deadline, key)
        finally:
            if step is not None and step.cancel_url and not ended:
                self._cancel(first, step.cancel_url, key)

    def _next_request(self, first: httpx.Request, step: FollowUp, deadline: float, key: str) -> httpx.Request:
        if step.delay:
            if self._connection.monotonic() + step.delay > deadline:
                total = self._connection.limits.total
                raise ProviderTimeout(f"the reply took longer than {total:g} seconds")
            self._sleep(step.delay)
        return self._connection.to_named(first, "GET", step.url, key, accept=step.accept)

    def _cancel(self, first: httpx.Request, address: str, key: str) -> None:
        """Tell the provider that nobody wants the rest."""
        try:
            request = self._connection.to_named(first, "POST", address, key, accept="application/json")
        except ProviderError:
            return
        self._connection.tell(request, seconds=_CANCEL_SECONDS)

    def _chosen_wire(self, prompt: Prompt) -> tuple[Wire, Prompt]:
        """The wire that agent or installation chose, and the prompt without what chose it."""
        choice, conversing = self._endpoint.choice, self._endpoint.conversing
        if conversing is not None and prompt.capabilities.supports_conversation:
            return conversing.wire, prompt
        if choice is None:
            return self._endpoint.wire, prompt
        settings = dict(prompt.settings)
        wanted = settings.pop(choice.agent_setting, None)
        default = (self._connection.secrets.get(choice.setting) or "").strip()
        names = " or ".join(choice.wires)
        if wanted is not None and wanted not in list(choice.wires):  # whatever its type
            raise ProviderRejectedRequest(f"the agent's setting {choice.agent_setting} must be {names}")
        if wanted is None and default and default not in choice.wires:
            raise ProviderNotConfigured(f"{choice.setting} must be {names}")
        name = wanted or default
        return choice.wires[name] if name else self._endpoint.wire, prompt.but(settings=settings)

    def _request(self, wire: Wire, prompt: Prompt, key: str) -> httpx.Request:
        endpoint, conversing = self._endpoint, self._endpoint.conversing
        self._connection.check_configured()
        home = conversing.base_url if conversing and wire is conversing.wire else endpoint.base_url
        own_server_path = endpoint.own_server_path if wire is endpoint.wire else ""
        url = self._connection.url(home, wire.path(prompt), own_server_path=own_server_path)
        body: dict[str, Any] = wire.encode(prompt)
        if url.host == httpx.URL(endpoint.base_url).host:
            body = {endpoint.renamed_at_home.get(name, name): value for name, value in body.items()}
        headers = self._connection.headers(key)
        if endpoint.prompt_headers is not None:
            headers |= endpoint.prompt_headers(prompt)
        return self._connection.post(url, body, headers)
