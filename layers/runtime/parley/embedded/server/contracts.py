"""What the server serves: the handlers that the deployed functions are made of, and the parts around them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from parley.embedded.gateway_routes import Cors
from parley.embedded.issuer import LocalIssuer
from parley.embedded.sockets import SocketHub

Handler = Callable[[dict[str, Any], Any], Any]
"""A Lambda handler: event and context in, result out."""


@dataclass(frozen=True, slots=True)
class InvocationContext:
    """The context of an invocation: the fields of Lambda's that handlers and their tools read."""

    function_name: str
    aws_request_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    function_version: str = "$LATEST"
    memory_limit_in_mb: int = 0

    @property
    def invoked_function_arn(self) -> str:
        """An ARN in the form of Lambda's."""
        return f"arn:aws:lambda:local:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """API Gateway's time limit; nothing here measures it."""
        return 30_000


class Enroll(Protocol):
    """Makes a user a member of a project, which is made if need be."""

    def __call__(self, user_id: str, project_id: str, role: str | None = None, /) -> None:
        """``role``: the one that the user has from now on; None leaves one that is there."""
        ...


@dataclass(frozen=True, slots=True)
class Handlers:
    """The functions behind the HTTP API, the WebSocket API and the schedule."""

    http: Handler
    authorize: Handler
    socket: Handler
    repair: Handler


@dataclass(frozen=True, slots=True)
class Service:
    """All that one server serves. `routes` are (method, path); `public` are route keys that need no token.

    `enroll` makes a user a member of a project: what `parley token` asks of a server.
    Not `working`: requests are answered, but nothing is repaired or thrown away.
    `import_session` takes `user`, `project`, `agent` and `session`: what `parley import` asks.
    """

    handlers: Handlers
    routes: tuple[tuple[str, str], ...]
    public: frozenset[str]
    hub: SocketHub
    issuer: LocalIssuer
    pages: Path
    now: Callable[[], float]
    purge: Callable[[], object]
    enroll: Enroll
    import_session: Callable[[dict[str, Any]], dict[str, Any]]
    cors: Cors | None = None
    working: bool = True
