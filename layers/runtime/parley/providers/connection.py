"""A connection to one provider: its address, key, headers and time limits, and sending itself.

The only module that sends. Owns what becomes of a request that fails::

    no connection                   ProviderUnavailable
    no byte in time, or too long    ProviderTimeout
    broken behind the status line   StreamCut
    any status but 2xx              what the wire's ``decode_error`` says
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, get_args

import httpx

from parley.domain.errors import (
    ProviderError,
    ProviderNotConfigured,
    ProviderTimeout,
    ProviderUnavailable,
    StreamCut,
)
from parley.providers.endpoints import AuthStyle, Endpoint
from parley.providers.whole_characters import clean_text
from parley.turns.ports import Secrets

DecodeError = Callable[[int, Mapping[str, str], str], ProviderError]
"""Status, headers (names in lower case) and body of an answer that is not 2xx, to the error that it is."""

_ERROR_BYTES = 65_536
_KEY_LIKE = re.compile(r"(?i)\b(?:sk|gsk|hf|r8)[-_][A-Za-z0-9_\-*.]{8,}|\bBearer\s+\S+|\bAIza[\w-]{20,}")


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Seconds. ``total`` is looked at whenever bytes come, so a call lasts at most ``total + read``."""

    connect: float = 10.0
    read: float = 120.0
    total: float = 240.0


class Connection:
    """How one provider is reached: a row, the installation's settings and a shared client."""

    def __init__(
        self,
        endpoint: Endpoint,
        secrets: Secrets,
        client: Callable[[], httpx.Client],
        *,
        limits: TimeLimits | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.endpoint = endpoint
        self.secrets = secrets
        self.limits = limits or TimeLimits()
        self.monotonic = monotonic
        self._client = client

    def is_configured(self) -> bool:
        """With a key; or with a base URL of one's own, for local servers that want none."""
        return not self.endpoint.needs_key or bool(self.key() or self.own_base_url())

    def check_configured(self) -> None:
        """Raises ProviderNotConfigured."""
        if not self.is_configured():
            raise ProviderNotConfigured(f"{self.endpoint.key_setting} is not set")

    def key(self) -> str:
        """The provider's key, or nothing."""
        return (self.secrets.get(self.endpoint.key_setting) or "").strip()

    def own_base_url(self) -> str:
        """The base URL that the installation set, or nothing."""
        return (self.secrets.get(self.endpoint.base_url_setting) or "").strip()

    def url(self, home: str, path: str, *, own_server_path: str = "") -> httpx.URL:
        """The address of ``path`` behind the installation's own base URL or ``home``. Raises ProviderNotConfigured."""
        own = self.own_base_url()
        try:
            base = httpx.URL(own or home)
            if base.path in {"", "/"}:
                if own and own_server_path:
                    return _checked(base.copy_with(path=own_server_path))
                # A base URL that names a host alone gets the path that the provider's own has (``/v1``).
                base = base.copy_with(path=httpx.URL(home).path)
            return _checked(httpx.URL(f"{str(base).rstrip('/')}{path}"))
        except httpx.InvalidURL as error:
            setting = self.endpoint.base_url_setting
            raise ProviderNotConfigured(f"{setting} is not a usable URL: {error}") from None

    def post(self, url: httpx.URL, body: Mapping[str, Any], headers: Mapping[str, str]) -> httpx.Request:
        """A request with a JSON body. Half a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return self.request("POST", url, headers, text.encode("utf-8", "replace"))

    def request(
        self, method: str, url: httpx.URL, headers: Mapping[str, str], content: bytes | None = None
    ) -> httpx.Request:
        """A request within the time limits."""
        timeout = httpx.Timeout(self.limits.read, connect=self.limits.connect)
        return self._client().build_request(method, url, content=content, headers=headers, timeout=timeout)

    def deadline(self) -> float:
        """When a call that begins now must have ended, on the clock of ``monotonic``."""
        return self.monotonic() + self.limits.total

    def to_named(
        self, first: httpx.Request, method: str, address: str, key: str, *, accept: str
    ) -> httpx.Request:
        """A request to an address that the answer to ``first`` named. The key goes to known hosts only."""
        try:
            url = _checked(first.url.join(address))
        except httpx.InvalidURL:
            raise StreamCut("the provider named an address that is none") from None
        if url.scheme not in {"https", first.url.scheme}:
            raise StreamCut("the provider named an address that is less safe than its own")
        known = url.host == first.url.host or url.host in self.endpoint.key_hosts
        return self.request(method, url, {**self.headers(key if known else ""), "accept": accept})

    def headers(self, key: str) -> dict[str, str]:
        """Those of every request. Raises ProviderNotConfigured for a setting that no header can hold."""
        endpoint = self.endpoint
        headers = {
            "accept": "text/event-stream, application/json",
            "content-type": "application/json",
            "user-agent": "parley",
            **endpoint.headers,
        }
        for header, setting in endpoint.header_settings.items():
            if value := (self.secrets.get(setting) or "").strip():
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
        setting = self.endpoint.auth_setting
        wanted = (self.secrets.get(setting) or "").strip().lower() if setting else ""
        if wanted and wanted not in get_args(AuthStyle):
            raise ProviderNotConfigured(f"{setting} must be one of: {', '.join(get_args(AuthStyle))}")
        return wanted or self.endpoint.auth

    def send(self, decode_error: DecodeError, request: httpx.Request, deadline: float) -> Generator[bytes]:
        """Send, and give out the body of a 2xx as it comes. Closing this closes the connection."""
        answered = False
        try:
            response = self._client().send(request, stream=True)
            answered = True
            try:
                if not response.is_success:
                    raise self._refused(decode_error, response)
                for data in response.iter_bytes():
                    yield data
                    if self.monotonic() > deadline:
                        raise ProviderTimeout(f"the reply took longer than {self.limits.total:g} seconds")
            finally:
                response.close()
        except httpx.TimeoutException as error:
            raise ProviderTimeout(f"no answer in time ({type(error).__name__})") from None
        except httpx.HTTPError as error:
            words = f"{type(error).__name__}: {error}"
            raise (StreamCut if answered else ProviderUnavailable)(
                f"the connection failed ({words})"
            ) from None

    def tell(self, request: httpx.Request, *, seconds: float) -> None:
        """Send what needs no answer; that it does not arrive in the end does no harm."""
        request.extensions["timeout"] = httpx.Timeout(seconds).as_dict()
        with suppress(httpx.HTTPError):
            self._client().send(request)

    def _refused(self, decode_error: DecodeError, response: httpx.Response) -> ProviderError:
        body = b""
        try:
            for data in response.iter_bytes():
                body += data
                if len(body) >= _ERROR_BYTES:
                    break
        except httpx.HTTPError:
            pass  # the status says enough
        headers = {name.lower(): value for name, value in response.headers.items()}
        return decode_error(response.status_code, headers, body.decode("utf-8", "replace"))

    def whole(self, decode_error: DecodeError, request: httpx.Request, *, limit: int) -> bytes:
        """Send, and the whole body of a 2xx. Raises StreamCut if it has more than ``limit`` bytes."""
        body = bytearray()
        with closing(self.send(decode_error, request, self.deadline())) as parts:
            for part in parts:
                body += part
                if len(body) > limit:
                    raise StreamCut(f"the answer is larger than {limit:,} bytes")
        return bytes(body)

    def named(self, error: ProviderError, key: str) -> ProviderError:
        """The same error with the provider's name in front and no key in its words."""
        words = error.message.replace(key, "[key]") if key else error.message
        message = clean_text(f"{self.endpoint.name}: {_KEY_LIKE.sub('[key]', words)}")
        return type(error)(message, provider=self.endpoint.name, retry_after=error.retry_after)


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
