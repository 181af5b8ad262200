"""HTTP as API Gateway's HTTP API speaks it to a Lambda function, payload format 2.0, and back.

Pure: a request becomes an event or, where API Gateway itself answers, an answer; a function's result becomes
an answer. What a function does and how long it takes is the server's business. Sources, all below
https://docs.aws.amazon.com/apigateway/latest/developerguide/:

- the event and the answer: http-api-develop-integrations-lambda.html
- the authorizer: http-api-jwt-authorizer.html, http-api-troubleshooting-jwt.html
- limits (10 MB, 30 s): http-api-quotas.html
- `rawPath` is percent-decoded and ends at a decoded question mark, in spite of its name and unlike
  `rawQueryString`: no page says so, published captures of real events do.
"""

from __future__ import annotations

import base64
import binascii
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote

from parley.domain.errors import ParleyError
from parley.embedded.gateway_routes import Cors, Match, Routes

MAX_BODY = 10 * 1024 * 1024
INTEGRATION_SECONDS = 30.0
_ACCOUNT, _API_ID, _STAGE = "000000000000", "embedded", "$default"
_TEXT_TYPES = ("application/json", "application/javascript", "application/xml")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it came in: `raw_path` and `query` percent-encoded, header names in any case."""

    method: str
    raw_path: str
    query: str = ""
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    client_ip: str = "127.0.0.1"
    protocol: str = "HTTP/1.1"
    scheme: str = "http"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer as it goes out: header names in lower case, repeated where they repeat."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""


def own_answer(status: int, message: str, headers: Sequence[tuple[str, str]] = ()) -> HttpAnswer:
    """An answer of API Gateway's own: `{"message"}`."""
    body = json.dumps({"message": message}, separators=(",", ":")).encode()
    return HttpAnswer(status, [("content-type", "application/json"), *headers], body)


TOO_LARGE = own_answer(413, "Request Entity Too Large")
UNAVAILABLE = own_answer(503, "Service Unavailable")
BROKEN = own_answer(500, "Internal Server Error")


class Gateway:
    """The HTTP API in front of one function.

    `verify` turns a token into its claims or raises a ParleyError; routes in `public` (`GET /path`) need no
    token.
    """

    def __init__(
        self,
        routes: Routes,
        verify: Callable[[str], Mapping[str, Any]],
        *,
        public: frozenset[str] = frozenset(),
        cors: Cors | None = None,
        now: Callable[[], float],
    ) -> None:
        self._routes = routes
        self._verify = verify
        self._public = public
        self._cors = cors
        self._now = now

    def receive(self, request: HttpRequest) -> dict[str, Any] | HttpAnswer:
        """The function's event, or the answer if the function is not asked."""
        headers = joined_headers(request.headers)
        if self._cors is not None and request.method == "OPTIONS":
            return HttpAnswer(204, self._cors.preflight(headers))
        match = self._routes.match(request.method, request.raw_path)
        if match is None:
            return own_answer(404, "Not Found")
        if len(request.body) > MAX_BODY:
            return TOO_LARGE
        claims: Mapping[str, Any] | None = None
        if match.route_key not in self._public:
            try:
                claims = self._verify(bearer_token(headers))
            except ParleyError as error:
                return unauthorized(str(error))
        return http_event(request, headers, match, claims, self._now())

    def answer(self, request: HttpRequest, result: object) -> HttpAnswer:
        """What the caller gets for the function's result."""
        return self.allow_origin(request, http_answer(result))

    def allow_origin(self, request: HttpRequest, answer: HttpAnswer) -> HttpAnswer:
        """The answer with the CORS headers of the API: they replace those of the function."""
        if self._cors is None or request.method == "OPTIONS":
            return answer
        own = [(name, value) for name, value in answer.headers if not name.startswith("access-control-")]
        return HttpAnswer(
            answer.status, own + self._cors.answer(joined_headers(request.headers)), answer.body
        )


def unauthorized(reason: str) -> HttpAnswer:
    """401 as the JWT authorizer gives it: the reason, words of ours, is in the header, not in the body."""
    challenge = f'Bearer scope="" error="invalid_token" error_description="{reason}"'
    return own_answer(401, "Unauthorized", [("www-authenticate", challenge)])


def bearer_token(headers: Mapping[str, str]) -> str:
    """The token of the Authorization header, with or without `Bearer`; empty if there is none."""
    value = headers.get("authorization", "").strip()
    scheme, _, rest = value.partition(" ")
    return rest.strip() if scheme.lower() == "bearer" else value


def joined_headers(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Names in lower case, repeated ones joined with commas."""
    joined: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        joined[key] = f"{joined[key]},{value}" if key in joined else value
    return joined


def claims_as_strings(claims: Mapping[str, Any]) -> dict[str, str]:
    """Claims as the authorizer passes them on: every value a string, a list as `[a b]`."""
    return {name: _claim(value) for name, value in claims.items()}


def _claim(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, list):
        return "[" + " ".join(_claim(item) for item in value) + "]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value) if isinstance(value, dict) else str(value)


def http_event(
    request: HttpRequest,
    headers: dict[str, str],
    match: Match,
    claims: Mapping[str, Any] | None,
    now: float,
) -> dict[str, Any]:
    """The event of payload format 2.0. Fields that have no value are left out, as API Gateway does."""
    headers = dict(headers)
    headers["x-forwarded-for"] = request.client_ip
    headers["x-forwarded-proto"] = request.scheme
    cookies = headers.pop("cookie", "")
    path = unquote(request.raw_path).partition("?")[0]
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": match.route_key,
        "rawPath": path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": _request_context(request, headers, match, path, now),
        "isBase64Encoded": False,
    }
    if claims is not None:
        jwt = {"claims": claims_as_strings(claims), "scopes": None}
        event["requestContext"]["authorizer"] = {"jwt": jwt}
    if cookies:
        event["cookies"] = [cookie.strip() for cookie in cookies.split(";")]
    if request.query:
        event["queryStringParameters"] = query_parameters(request.query)
    if match.parameters:
        event["pathParameters"] = match.parameters
    if request.body:
        event["body"], event["isBase64Encoded"] = _event_body(request.body, headers)
    return event


def _request_context(
    request: HttpRequest, headers: Mapping[str, str], match: Match, path: str, now: float
) -> dict[str, Any]:
    host = headers.get("host", "localhost")
    return {
        "accountId": _ACCOUNT,
        "apiId": _API_ID,
        "domainName": host,
        "domainPrefix": host.partition(".")[0],
        "http": {
            "method": request.method,
            "path": path,
            "protocol": request.protocol,
            "sourceIp": request.client_ip,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": uuid.uuid4().hex,
        "routeKey": match.route_key,
        "stage": _STAGE,
        "time": datetime.fromtimestamp(now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(now * 1000),
    }


def query_parameters(query: str) -> dict[str, str]:
    """Decoded; repeated names joined with commas."""
    joined: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _event_body(body: bytes, headers: Mapping[str, str]) -> tuple[str, bool]:
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type.startswith("text/") or media_type in _TEXT_TYPES:
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass  # what is not UTF-8 can only be carried as base64
    return base64.b64encode(body).decode(), True


def http_answer(result: object) -> HttpAnswer:
    """A function's result by the rules of format 2.0.

    With `statusCode` it is the answer; without, it is the body of a 200 (a string as it is, anything else as
    JSON); nothing at all, or a field of the wrong kind, is a 500.
    """
    if result is None:
        return BROKEN
    if not isinstance(result, dict) or "statusCode" not in result:
        try:
            text = result if isinstance(result, str) else json.dumps(result)
        except (TypeError, ValueError):
            return BROKEN
        return HttpAnswer(200, [("content-type", "application/json")], text.encode())
    try:
        return _shaped_answer(result)
    except (TypeError, ValueError, AttributeError, binascii.Error):
        return BROKEN


def _shaped_answer(result: Mapping[str, Any]) -> HttpAnswer:
    status = int(result["statusCode"])
    if not 100 <= status <= 599:
        raise ValueError("no HTTP status")
    headers = [(str(name).lower(), str(value)) for name, value in (result.get("headers") or {}).items()]
    if any("\n" in text or "\r" in text for pair in headers for text in pair):
        raise ValueError("a header of more than one line")
    headers += [("set-cookie", str(cookie)) for cookie in result.get("cookies") or ()]
    text = result.get("body") or ""
    if not isinstance(text, str):
        raise TypeError("the body of an answer is a string")
    body = base64.b64decode(text, validate=True) if result.get("isBase64Encoded") else text.encode()
    if body and not any(name == "content-type" for name, _ in headers):
        headers.append(("content-type", "text/plain;charset=UTF-8"))
    return HttpAnswer(status, headers, body)
