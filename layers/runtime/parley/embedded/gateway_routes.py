"""Which route of the HTTP API a request takes, and API Gateway's own answers to those that take none.

Rules: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html (an exact
route wins over one with parameters, that over a greedy one) and …/http-api-cors.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

_PARAMETER = re.compile(r"\{(\w+)(\+?)\}|<(\w+)>")


class Match(NamedTuple):
    """The route that a request takes, as `GET /path/{parameter}`, and the parameters' values, decoded."""

    route_key: str
    parameters: dict[str, str]


class _Route(NamedTuple):
    method: str
    path: str
    pattern: re.Pattern[str]
    rank: tuple[int, ...]


class Routes:
    """The routes of an API: method and path; parameters as `{name}` or `<name>`, greedy ones as `{name+}`."""

    def __init__(self, routes: Iterable[tuple[str, str]]) -> None:
        compiled = [_compile(method, path) for method, path in routes]
        compiled.sort(key=lambda route: route.rank)
        self._exact = {
            (route.method, route.path): Match(f"{route.method} {route.path}", {})
            for route in compiled
            if "{" not in route.path
        }
        self._others: dict[str, list[_Route]] = {}
        for route in compiled:
            if "{" in route.path:
                self._others.setdefault(route.method, []).append(route)

    def match(self, method: str, raw_path: str) -> Match | None:
        """The route for a method and a path as it came, percent-encoded."""
        exact = self._exact.get((method, raw_path))
        if exact is not None:
            return exact
        for route in self._others.get(method, ()):
            found = route.pattern.fullmatch(raw_path)
            if found is not None:
                values = {name: unquote(value) for name, value in found.groupdict().items()}
                return Match(f"{route.method} {route.path}", values)
        return None


def _compile(method: str, path: str) -> _Route:
    path = _PARAMETER.sub(lambda found: found[0] if found[1] else "{" + found[3] + "}", path)
    rank: list[int] = []
    parts: list[str] = []
    for segment in path.split("/"):
        found = _PARAMETER.fullmatch(segment)
        if found is None:
            rank.append(0)
            parts.append(re.escape(segment))
        else:
            greedy = found[2] == "+"
            rank.append(2 if greedy else 1)
            parts.append(f"(?P<{found[1]}>{'.+' if greedy else '[^/]+'})")
    return _Route(method.upper(), path, re.compile("/".join(parts)), tuple(rank))


@dataclass(frozen=True, slots=True)
class Cors:
    """Who may call from another origin. `*` allows every origin."""

    allow_origins: Sequence[str]
    allow_methods: Sequence[str] = ("GET", "POST", "PUT", "DELETE", "OPTIONS")
    allow_headers: Sequence[str] = ("authorization", "content-type", "idempotency-key")
    max_age_seconds: int = 600

    def preflight(self, headers: Mapping[str, str]) -> list[tuple[str, str]]:
        """The headers that answer an OPTIONS request; it is answered 204 without an authorizer."""
        allowed = self.answer(headers)
        if not allowed:
            return []
        return [
            *allowed,
            ("access-control-allow-methods", ",".join(self.allow_methods)),
            ("access-control-allow-headers", ",".join(self.allow_headers)),
            ("access-control-max-age", str(self.max_age_seconds)),
        ]

    def answer(self, headers: Mapping[str, str]) -> list[tuple[str, str]]:
        """What is added to every answer to a request from an allowed origin."""
        origin = headers.get("origin")
        if origin is None:
            return []
        if "*" in self.allow_origins:
            return [("access-control-allow-origin", "*")]
        if origin in self.allow_origins:
            return [("access-control-allow-origin", origin), ("vary", "Origin")]
        return []
