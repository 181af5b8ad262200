"""Functions over HTTP: one request, and its answer in words."""

from __future__ import annotations

import json
import logging
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import cache
from typing import Any
from urllib.parse import quote

import httpx

from parley.domain.remote_functions import (
    ARGUMENT_IN_ADDRESS,
    BEARER_HEADER,
    CALLER_HEADERS,
    IDEMPOTENCY_HEADER,
    HttpFunction,
)
from parley.tools.answers import (
    LARGEST_ANSWER,
    NotReached,
    Unanswered,
    meant_for_the_model,
    read_json,
    read_text,
)
from parley.tools.hosts import HostRefused, HostRules, on_this_machine
from parley.turns.function_ports import FunctionOutcome, RemoteCall

_LOG = logging.getLogger("parley.functions")
CONNECT_SECONDS = 5.0
LONGEST_FILLED = 16_000
"""Characters of an address with its arguments in it: more than servers take, less than our client does."""
_TOO_LONG = "was not called: its arguments are too long for an address"
_PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")


@cache
def tls_context() -> ssl.SSLContext:
    """Whom to trust: slow to read, and the same for every call."""
    return httpx.create_ssl_context()


class GuardedTransport(httpx.BaseTransport):
    """Connects to the address that the rules looked at; certificate and Host header stay those of the name."""

    def __init__(self, hosts: HostRules) -> None:
        self._hosts = hosts
        self._inner = httpx.HTTPTransport(verify=tls_context())

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Each allowed address in turn, until one takes the connection. Raises HostRefused."""
        host = request.url.raw_host.decode("ascii")
        try:
            addresses = self._hosts.addresses(host, request.url.port or 443)
        except OSError as error:
            raise httpx.ConnectError(f"the name was not found ({type(error).__name__})") from None
        request.extensions = {**request.extensions, "sni_hostname": host}
        named = request.url
        for address in addresses[:-1]:
            request.url = named.copy_with(host=address)
            try:
                return self._inner.handle_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        request.url = named.copy_with(host=addresses[-1])
        return self._inner.handle_request(request)

    def close(self) -> None:
        """Close what is open."""
        self._inner.close()


def make_client(url: str, hosts: HostRules) -> httpx.Client:
    """For one call: a connection kept from the last one may be dead, and then nobody knows what was done."""
    if hosts.open:
        trust_env = not on_this_machine(url)
        return httpx.Client(follow_redirects=False, verify=tls_context(), trust_env=trust_env)
    return httpx.Client(follow_redirects=False, transport=GuardedTransport(hosts))


def call_http(
    function: HttpFunction, call: RemoteCall, secret: str | None, hosts: HostRules
) -> FunctionOutcome:
    """The answer. Raises Unanswered, and NotReached for what may be tried again."""
    deadline = time.monotonic() + call.seconds
    with make_client(function.url, hosts) as client:
        try:
            response = _send(client, _request(client, function, call, secret), call)
        except UnicodeError:  # what the client, or the system's look-up, cannot write as a name
            raise Unanswered("could not be reached: the host in its address is no name", ran=False) from None
        with closing(response):
            return _read(response, call.seconds, deadline)


def _send(client: httpx.Client, request: httpx.Request, call: RemoteCall) -> httpx.Response:
    try:
        return client.send(request, stream=True)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        _LOG.warning("no connection for %s: %s", call.name, error)
        if "CERTIFICATE" in str(error):
            words = "could not be reached: its certificate is not one that is trusted here"
            raise Unanswered(words, ran=False) from None
        raise NotReached from None
    except HostRefused as refused:
        raise Unanswered(str(refused), ran=False) from None
    except httpx.TimeoutException:
        raise Unanswered(f"did not answer within {call.seconds:g} s") from None
    except httpx.HTTPError:
        raise Unanswered("broke the connection off before it answered") from None


def _request(
    client: httpx.Client, function: HttpFunction, call: RemoteCall, secret: str | None
) -> httpx.Request:
    timeout = httpx.Timeout(call.seconds, connect=min(CONNECT_SECONDS, call.seconds))
    headers = httpx.Headers(
        {"accept": "application/json, text/plain;q=0.9, */*;q=0.1", "user-agent": "parley"}
    )
    headers.update(function.headers)
    headers.update({IDEMPOTENCY_HEADER: call.idempotency_key, **caller_headers(call)})
    headers.update(secret_header(function.secret_header, secret))
    # A small answer that swells to something huge is of no use to anybody.
    headers["accept-encoding"] = "identity"
    url, arguments = _filled(function.url, call.arguments)
    if function.method in {"GET", "DELETE"}:
        query = _query(arguments)
        if len(str(httpx.QueryParams(query))) > LONGEST_FILLED:
            raise Unanswered(_TOO_LONG, ran=False)
        url = url.copy_merge_params(query)
        return client.build_request(function.method, url, headers=headers, timeout=timeout)
    body = json.dumps(arguments, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    headers["content-type"] = "application/json"
    return client.build_request(function.method, url, headers=headers, content=body, timeout=timeout)


def _filled(address: str, arguments: Mapping[str, Any]) -> tuple[httpx.URL, Mapping[str, Any]]:
    """The address with its placeholders filled in, and the arguments that are left. Raises Unanswered.

    No value can lead to another path than its own: it is one segment, and not one that leads upwards.
    """
    used: set[str] = set()

    def value(found: re.Match[str]) -> str:
        name = found[1]
        text = "" if arguments.get(name) is None else _text(arguments[name])
        if not text or {".", ".."} & set(re.split(r"[/\\]", text)):
            raise Unanswered(f"was not called: {name} cannot stand in its address", ran=False)
        used.add(name)
        return quote(text.encode("utf-8", "replace"), safe="")

    filled = ARGUMENT_IN_ADDRESS.sub(value, address)
    if len(filled) > LONGEST_FILLED:
        raise Unanswered(_TOO_LONG, ran=False)
    return httpx.URL(filled), {name: given for name, given in arguments.items() if name not in used}


def caller_headers(call: RemoteCall) -> dict[str, str]:
    """Who calls. What no header can hold is written as in an address (``%C3%A9``)."""
    caller = (call.user_id, call.project_id, call.agent_id, call.thread_id)
    return {
        name: quote(value, safe=_PRINTABLE).strip()
        for name, value in zip(CALLER_HEADERS, caller, strict=True)
    }


def secret_header(name: str, secret: str | None) -> dict[str, str]:
    """The header with the secret. Raises Unanswered for one that no header can hold."""
    if secret is None:
        return {}
    if not (secret.isascii() and secret.isprintable()):
        raise Unanswered("was not called: its secret holds characters that no header may have", ran=False)
    return {name: f"Bearer {secret}" if name.lower() == BEARER_HEADER.lower() else secret}


def _query(arguments: Mapping[str, Any]) -> dict[str, str | list[str]]:
    return {name: _texts(value) for name, value in arguments.items() if value is not None}


def _texts(value: Any) -> str | list[str]:
    if isinstance(value, list) and not any(isinstance(part, dict | list) for part in value):
        return [_text(part) for part in value]
    return _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read(response: httpx.Response, seconds: float, deadline: float) -> FunctionOutcome:
    if response.is_redirect:
        raise Unanswered("answered with a redirect, which is not followed: its agent needs the new address")
    body = b"".join(_parts(response, seconds, deadline))
    media = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    json_said = media == "application/json" or media.endswith("+json")
    if not response.is_success:
        refusal = meant_for_the_model(body) if json_said and response.status_code < 500 else None
        if refusal is not None:
            return refusal
        status = f"{response.status_code} {httpx.codes.get_reason_phrase(response.status_code)}".strip()
        # 4xx is said before anything is done; behind 5xx there may be half an action.
        raise Unanswered(f"answered {status}", ran=response.status_code >= 500)
    if json_said:
        return read_json(body)
    if media and not media.startswith("text/"):
        raise Unanswered(f"answered with {media[:100]}, which is neither text nor JSON")
    try:
        return read_text(body.decode(response.charset_encoding or "utf-8", "replace"))
    except LookupError:
        return read_text(body.decode("utf-8", "replace"))


def _parts(response: httpx.Response, seconds: float, deadline: float) -> Iterator[bytes]:
    size = 0
    try:
        for part in response.iter_bytes():
            size += len(part)
            if size > LARGEST_ANSWER:
                raise Unanswered(f"answered with more than {LARGEST_ANSWER:,} bytes")
            if time.monotonic() > deadline:
                raise Unanswered(f"did not finish its answer within {seconds:g} s")
            yield part
    except httpx.TimeoutException:
        raise Unanswered(f"did not finish its answer within {seconds:g} s") from None
    except httpx.HTTPError:
        raise Unanswered("broke the connection off in the middle of its answer") from None
