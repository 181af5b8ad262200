"""The Powertools resolver, made fit for a process that answers several requests at once.

A Lambda answers one at a time, so Powertools keeps the current event and its context on the class. The embedded
server calls the same handler from many threads: without this, one caller's request could be answered as another's.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from parley.domain.errors import InvalidRequest
from parley.domain.json_text import read_request

_GREEDY = re.compile(r"<(\w+)\+>")
_event: ContextVar[APIGatewayProxyEventV2] = ContextVar("event")
_context: ContextVar[dict[str, Any]] = ContextVar("context")


def _as_json(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """All bodies here are JSON: one that curl calls a form, for want of a header, is read as what it is."""
    headers = event.get("headers") or {}
    if not event.get("body") or "form" not in headers.get("content-type", ""):
        return event
    return {**event, "headers": {**headers, "content-type": "application/json"}}


def current_user() -> str:
    """The caller of this thread's request: the JWT's ``sub``, checked by the API's authorizer."""
    authorizer = _event.get().request_context.authorizer
    if authorizer is None:
        raise LookupError("the request came past the authorizer")
    return str(authorizer.jwt_claim["sub"])


def sent_body() -> Any:
    """The JSON body of this thread's request. Raises ValueError if it is none."""
    return _event.get().json_body


def whole(name: str, value: str) -> str:
    """The value of the greedy parameter ``name``, which the resolver has read from the path.

    API Gateway ends a path at an encoded question mark: what is left of it may be another thing's name.
    """
    if "?" in unquote(_event.get().path_parameters.get(name) or ""):
        raise InvalidRequest("invalid_request", f"{name}: must not have question marks.")
    return value


class Resolver(APIGatewayHttpResolver):
    """Holds the current request in context variables: each thread sees its own.

    A last parameter written ``<name+>`` takes the rest of the path, as ``{name+}`` does for API Gateway.
    """

    def __init__(self) -> None:
        self._before_requests: dict[str, Any] = {}
        self._building = threading.Lock()
        super().__init__(enable_validation=True)

    @property
    def current_event(self) -> APIGatewayProxyEventV2:  # type: ignore[override]
        """The event that this thread answers."""
        return _event.get()

    @property
    def context(self) -> dict[str, Any]:
        """What Powertools and the routes keep about the request that this thread answers."""
        return _context.get(self._before_requests)

    @context.setter
    def context(self, value: dict[str, Any]) -> None:
        self._before_requests = value

    @staticmethod
    def _compile_regex(rule: str, base_regex: str = "^{}$") -> re.Pattern[str]:
        compiled: re.Pattern[str] = APIGatewayHttpResolver._compile_regex(rule, base_regex)
        return re.compile(_GREEDY.sub(r"(?P<\1>[\\s\\S]+)", compiled.pattern))

    def include_router(self, router: Any, prefix: str | None = None) -> None:
        """Add a module's routes. OpenAPI knows no greedy parameters: there they are called like the others."""
        super().include_router(router, prefix)
        for route in self._dynamic_routes:
            route.openapi_path = route.openapi_path.replace("+}", "}")

    def routes(self) -> list[tuple[str, str]]:
        """Every route as (method, path), with ``{parameters}`` and ``{greedy+}`` ones as API Gateway writes them."""
        known = self._static_routes + self._dynamic_routes
        return sorted((route.method, route.path.replace("<", "{").replace(">", "}")) for route in known)

    def resolve(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Answer one request."""
        event = _as_json(event)
        mine = _event.set(APIGatewayProxyEventV2(dict(event), read_request))
        kept = _context.set({})
        try:
            return super().resolve(event, context)
        finally:
            _context.reset(kept)
            _event.reset(mine)

    def _call_route(self, route: Any, route_arguments: dict[str, str]) -> Any:
        # Powertools builds a route's stack of middlewares at its first call: twice, if two come at once.
        with self._building:
            if not route._middleware_stack_built:
                route._build_middleware_stack(router_middlewares=self._router_middlewares, app=self)
        return super()._call_route(route, route_arguments)
