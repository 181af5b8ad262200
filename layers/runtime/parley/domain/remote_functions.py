"""Functions that run elsewhere, as an agent's data: an HTTP endpoint, a Lambda, the tool of an MCP server.

Data alone: no value of a secret is ever in it, only the name under which the installation keeps one.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator

from parley.domain.values import Value

LONGEST_LIMIT = 300
"""Seconds that a function may have at most: what a Lambda of ours outlasts."""
EVERY_TOOL = "*"
"""In place of a tool's name, in an agent that is put: one function for each tool of the server."""

ARGUMENT_IN_ADDRESS = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A placeholder in the path or query of an endpoint's address."""

Method = Literal["POST", "PUT", "PATCH", "GET", "DELETE"]
BEARER_HEADER = "Authorization"
CALLER_HEADERS = ("Parley-User", "Parley-Project", "Parley-Agent", "Parley-Thread")
IDEMPOTENCY_HEADER = "Idempotency-Key"

HIDDEN = "[hidden]"
"""What members see in place of what an owner wrote into a header or an address: it may be a credential."""
NAME_OF_SETTING = r"^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$"
NAME_OF_TOOL = r"^[ -~]+$"

_LONGEST_NAME = 64
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_HEADER_VALUE = re.compile(r"(?! )[ -~]{0,2000}(?<! )")
_OURS = frozenset(
    name.lower()
    for name in (
        *CALLER_HEADERS,
        IDEMPOTENCY_HEADER,
        "Accept-Encoding",
        "Connection",
        "Content-Length",
        "Content-Type",
        "Host",
        "Transfer-Encoding",
        "Upgrade",
    )
)
_LAMBDA = re.compile(
    r"(?:(?:arn:aws[a-z-]*:lambda:[a-z0-9-]+:)?\d{12}:function:)?[A-Za-z0-9_-]{1,64}(?::(?:\$LATEST|[A-Za-z0-9_-]{1,128}))?"
)


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")  # a ValueError for what no name can be, such as a..b
        usable = parts.scheme in {"http", "https"} and bool(host) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not re.fullmatch(r"[!-~]+", url):
        raise ValueError("must be an address such as https://tools.example.com/orders")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold a password; name a setting that does as secret")
    if parts.fragment:
        raise ValueError("must not have a part after #")
    if "{" in parts.netloc:
        raise ValueError("must name its host itself; arguments may stand behind it")
    return url


def _header(name: str) -> str:
    if not _HEADER.fullmatch(name):
        raise ValueError("must be the name of a header, such as X-Api-Key")
    if name.lower() in _OURS:
        raise ValueError(f"{name} is a header that Parley sets itself")
    return name


def _without_value(part: str) -> str:
    name, mark, value = part.partition("=")
    if not mark:
        return HIDDEN if name else ""
    return f"{name}={value if not value or ARGUMENT_IN_ADDRESS.fullmatch(value) else HIDDEN}"


Address = Annotated[str, Field(max_length=2000), AfterValidator(_address)]
SecretName = Annotated[str, Field(pattern=NAME_OF_SETTING, max_length=64)]
"""The name of a secret within its project, such as ``WEATHER_KEY``."""
HeaderName = Annotated[str, AfterValidator(_header)]


class _Addressed(Value):
    """What has an address, and perhaps a secret that is sent there.

    ``secret_header``: ``Authorization`` carries it as ``Bearer …``, any other header as it is.
    """

    url: Address
    secret: SecretName | None = None
    secret_header: HeaderName = BEARER_HEADER

    def for_members(self) -> Self:
        """Without the values in the address's query, but for arguments: services take their keys there."""
        address, mark, query = self.url.partition("?")
        return self.but(
            url=address + mark + "&".join(map(_without_value, query.split("&"))) if mark else address
        )


class HttpFunction(_Addressed):
    """Answered by an HTTP endpoint: arguments as a JSON body, or as the query of a GET or DELETE.

    ``{name}`` in the path or query of ``url`` is the argument of that name, which then goes nowhere else.
    """

    kind: Literal["http"] = "http"
    method: Method = "POST"
    headers: dict[HeaderName, str] = Field(default_factory=dict, max_length=20)

    @field_validator("headers")
    @classmethod
    def _values_fit_a_header(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not _HEADER_VALUE.fullmatch(value):
                raise ValueError(f"{name} must be at most 2000 plain ASCII characters, no space around them")
        return headers

    def for_members(self) -> Self:
        """Without the values of its headers too."""
        return super().for_members().but(headers=dict.fromkeys(self.headers, HIDDEN))

    @model_validator(mode="after")
    def _the_secret_has_a_header_of_its_own(self) -> HttpFunction:
        if self.secret and self.secret_header.lower() in {name.lower() for name in self.headers}:
            raise ValueError(f"headers: {self.secret_header} is the header of the secret")
        return self


class LambdaFunction(Value):
    """Answered by a Lambda function, invoked and waited for. ``function``: its name or ARN, with a version or alias."""

    kind: Literal["lambda"] = "lambda"
    function: str

    @field_validator("function")
    @classmethod
    def _names_a_lambda(cls, function: str) -> str:
        if not _LAMBDA.fullmatch(function):
            raise ValueError("must be the name or the ARN of a Lambda function")
        return function


class McpFunction(_Addressed):
    """Answered by a tool of an MCP server, over streamable HTTP."""

    kind: Literal["mcp"] = "mcp"
    tool: str = Field(min_length=1, max_length=128, pattern=NAME_OF_TOOL)


def name_of_tool(prefix: str, tool: str) -> str:
    """The name of the function for one of all tools of a server; what a function's name cannot hold becomes ``_``."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", f"{prefix}_{tool}")[:_LONGEST_NAME]


RemoteFunction = HttpFunction | LambdaFunction | McpFunction
