"""The one place where model providers are called over HTTP.

Owns addresses, keys, time limits and what becomes of a failed request. What is said is the wire's business.

::

    no connection                   ProviderUnavailable
    no byte in time, or too long    ProviderTimeout
    broken behind the status line   StreamCut
    any status but 2xx              what the wire's ``decode_error`` says
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, get_args

import httpx

from parley.clock import SystemClock
from parley.domain.agents import Capabilities
from parley.domain.errors import (
    ProviderError,
    ProviderNotConfigured,
    ProviderRejectedRequest,
    ProviderTimeout,
    ProviderUnavailable,
    StreamCut,
)
from parley.prompts.prompt import Prompt
from parley.providers.endpoints import AuthStyle, Endpoint
from parley.providers.wire.protocol import FollowUp, Wire
from parley.providers.wire.sse import decode_lines
from parley.turns.model_ports import Delta, Finish
from parley.turns.ports import Secrets

_ERROR_BYTES = 65_536
_CANCEL_SECONDS = 5.0
_KEY_LIKE = re.compile(r"(?i)\b(?:sk|gsk|hf|r8)[-_][A-Za-z0-9_\-*.]{8,}|\bBearer\s+\S+|\bAIza[\w-]{20,}")


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Seconds. ``total`` is looked at whenever bytes come, so a call lasts at most ``total + read``."""

    connect: float = 10.0
    read: float = 120.0
    total: float = 240.0


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
        self._secrets = secrets
        self._client = client
        self._limits = limits or TimeLimits()
        self._monotonic = monotonic
        self._sleep = sleep or SystemClock().sleep

    def capabilities(self) -> Capabilities:
        """The row's."""
        return self._endpoint.capabilities

    def is_configured(self) -> bool:
        """With a key; or with a base URL of one's own, for local servers that want none."""
        return not self._endpoint.needs_key or bool(self._key() or self._own_base_url())

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        """Call the model; see the port. The request is made when the first delta is asked for."""
        key = self._key()
        try:
            wire, prompt = self._chosen_wire(prompt)
            yield from self._reply(wire, self._request(wire, prompt, key), key)
        except ProviderError as error:
            raise self._named(error, key) from None

    def _reply(self, wire: Wire, request: httpx.Request, key: str) -> Iterator[Delta]:
        """The deltas of one reply, over as many requests as its wire asks for."""
        deadline = self._monotonic() + self._limits.total
        step: FollowUp | None = None
        ended = False
        try:
            while True:
                following: FollowUp | None = None
                with closing(self._bytes(wire, request, deadline)) as data:
                    for delta in wire.decode_stream(decode_lines(data)):
                        if isinstance(delta, FollowUp):
                            step = following = delta
                            continue
                        ended = isinstance(delta, Finish)
                        yield delta
                if following is None:
                    return
                request = self._next_request(request, following, deadline, key)
        finally:
            if step is not None and step.cancel_url and not ended:
                self._cancel(request, step.cancel_url, key)

    def _next_request(self, last: httpx.Request, step: FollowUp, deadline: float, key: str) -> httpx.Request:
        if step.delay:
            if self._monotonic() + step.delay > deadline:
                raise ProviderTimeout(f"the reply took longer than {self._limits.total:g} seconds")
            self._sleep(step.delay)
        return self._to(last, "GET", step.url, key, accept=step.accept)

    def _to(self, last: httpx.Request, method: str, address: str, key: str, *, accept: str) -> httpx.Request:
        """A request to an address that the provider named. The key goes to known hosts only."""
        try:
            url = last.url.join(address)
        except httpx.InvalidURL:
            raise StreamCut("the provider named an address that is none") from None
        if url.scheme not in {"https", last.url.scheme}:
            raise StreamCut("the provider named an address that is less safe than its own")
        known = url.host == last.url.host or url.host in self._endpoint.key_hosts
        headers = {**self._headers(key if known else ""), "accept": accept}
        return self._client().build_request(method, url, headers=headers, timeout=self._timeout())

    def _cancel(self, last: httpx.Request, address: str, key: str) -> None:
        """Tell the provider that nobody wants the rest; that it is not told in the end does no harm."""
        try:
            request = self._to(last, "POST", address, key, accept="application/json")
            request.extensions["timeout"] = httpx.Timeout(_CANCEL_SECONDS).as_dict()
            self._client().send(request)
        except (httpx.HTTPError, ProviderError):
            pass

    def _chosen_wire(self, prompt: Prompt) -> tuple[Wire, Prompt]:
        """The wire that agent or installation chose, and the prompt without what chose it."""
        choice, conversing = self._endpoint.choice, self._endpoint.conversing
        if conversing is not None and prompt.capabilities.supports_conversation:
            return conversing.wire, prompt
        if choice is None:
            return self._endpoint.wire, prompt
        settings = dict(prompt.settings)
        wanted = settings.pop(choice.agent_setting, None)
        default = (self._secrets.get(choice.setting) or "").strip()
        names = " or ".join(choice.wires)
        if wanted is not None and wanted not in list(choice.wires):  # whatever its type
            raise ProviderRejectedRequest(f"the agent's setting {choice.agent_setting} must be {names}")
        if wanted is None and default and default not in choice.wires:
            raise ProviderNotConfigured(f"{choice.setting} must be {names}")
        name = wanted or default
        return choice.wires[name] if name else self._endpoint.wire, prompt.but(settings=settings)

    def _request(self, wire: Wire, prompt: Prompt, key: str) -> httpx.Request:
        endpoint = self._endpoint
        if not self.is_configured():
            raise ProviderNotConfigured(f"{endpoint.key_setting} is not set")
        try:
            url = self._url(wire, prompt)
        except httpx.InvalidURL as error:
            raise ProviderNotConfigured(f"{endpoint.base_url_setting} is not a usable URL: {error}") from None
        body = wire.encode(prompt)
        if url.host == httpx.URL(endpoint.base_url).host:
            body = {endpoint.renamed_at_home.get(name, name): value for name, value in body.items()}
        headers = self._headers(key)
        if endpoint.prompt_headers is not None:
            headers |= endpoint.prompt_headers(prompt)
        return self._client().build_request(
            "POST", url, content=_json(body), headers=headers, timeout=self._timeout()
        )

    def _url(self, wire: Wire, prompt: Prompt) -> httpx.URL:
        """Raises InvalidURL."""
        endpoint, own = self._endpoint, self._own_base_url()
        conversing = endpoint.conversing
        home = conversing.base_url if conversing and wire is conversing.wire else endpoint.base_url
        base = httpx.URL(own or home)
        if base.path in {"", "/"}:
            if own and endpoint.own_server_path and wire is endpoint.wire:
                return _checked(base.copy_with(path=endpoint.own_server_path))
            # A base URL that names a host alone gets the path that the provider's own has (``/v1``).
            base = base.copy_with(path=httpx.URL(home).path)
        return _checked(httpx.URL(f"{str(base).rstrip('/')}{wire.path(prompt)}"))

    def _headers(self, key: str) -> dict[str, str]:
        endpoint = self._endpoint
        headers = {
            "accept": "text/event-stream, application/json",
            "content-type": "application/json",
            "user-agent": "parley",
            **endpoint.headers,
        }
        for header, setting in endpoint.header_settings.items():
            if value := (self._secrets.get(setting) or "").strip():
                if not (value.isascii() and value.isprintable()):
                    raise ProviderNotConfigured(f"{setting} holds characters that no header may have")
                headers[header] = value
        if key:
            if not (key.isascii() and key.isprintable()):
                raise ProviderNotConfigured(f"{endpoint.key_setting} holds characters that no key has")
            style = self._auth_style()
            if style == "bearer":
                headers["authorization"] = f"Bearer {key}"
            else:
                headers[style] = key
        return headers

    def _auth_style(self) -> str:
        setting = self._endpoint.auth_setting
        wanted = (self._secrets.get(setting) or "").strip().lower() if setting else ""
        if wanted and wanted not in get_args(AuthStyle):
            raise ProviderNotConfigured(f"{setting} must be one of: {', '.join(get_args(AuthStyle))}")
        return wanted or self._endpoint.auth

    def _timeout(self) -> httpx.Timeout:
        return httpx.Timeout(self._limits.read, connect=self._limits.connect)

    def _bytes(self, wire: Wire, request: httpx.Request, deadline: float) -> Generator[bytes]:
        """Send, and give out the body of a 2xx as it comes. Closing this closes the connection."""
        answered = False
        try:
            response = self._client().send(request, stream=True)
            answered = True
            try:
                if not response.is_success:
                    raise self._refused(wire, response)
                for data in response.iter_bytes():
                    yield data
                    if self._monotonic() > deadline:
                        raise ProviderTimeout(f"the reply took longer than {self._limits.total:g} seconds")
            finally:
                response.close()
        except httpx.TimeoutException as error:
            raise ProviderTimeout(f"no answer in time ({type(error).__name__})") from None
        except httpx.HTTPError as error:
            words = f"{type(error).__name__}: {error}"
            raise (StreamCut if answered else ProviderUnavailable)(
                f"the connection failed ({words})"
            ) from None

    def _refused(self, wire: Wire, response: httpx.Response) -> ProviderError:
        body = b""
        try:
            for data in response.iter_bytes():
                body += data
                if len(body) >= _ERROR_BYTES:
                    break
        except httpx.HTTPError:
            pass  # the status says enough
        headers = {name.lower(): value for name, value in response.headers.items()}
        return wire.decode_error(response.status_code, headers, body.decode("utf-8", "replace"))

    def _named(self, error: ProviderError, key: str) -> ProviderError:
        """The same error with the provider's name in front and no key in its words."""
        words = error.message.replace(key, "[key]") if key else error.message
        message = f"{self.name}: {_KEY_LIKE.sub('[key]', words)}"
        return type(error)(message, provider=self.name, retry_after=error.retry_after)

    def _key(self) -> str:
        return (self._secrets.get(self._endpoint.key_setting) or "").strip()

    def _own_base_url(self) -> str:
        return (self._secrets.get(self._endpoint.base_url_setting) or "").strip()


def _json(body: dict[str, Any]) -> bytes:
    """Half a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _checked(url: httpx.URL) -> httpx.URL:
    if url.scheme not in {"http", "https"} or not url.host:
        raise httpx.InvalidURL("not an http or https address")
    return url


def make_client(transport: httpx.BaseTransport | None) -> httpx.Client:
    """A client for many threads. Redirects are not followed: they would take the key elsewhere."""
    options: dict[str, Any] = {} if transport is None else {"transport": transport}
    return httpx.Client(
        follow_redirects=False,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
        **options,
    )
