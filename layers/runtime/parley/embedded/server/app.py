"""The ASGI application: one port for HTTP and WebSockets, and what has to be done now and then."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from datetime import UTC, datetime

from parley.domain.conversation import SIGNAL_GRACE_SECONDS
from parley.domain.errors import StorageError
from parley.embedded.server.contracts import InvocationContext, Service
from parley.embedded.server.http import WORKERS, HttpServer, Receive, Scope, Send
from parley.embedded.server.websocket import SocketServer
from parley.embedded.server.workers import Workers

REPAIR_SECONDS = 60.0
# A process that was killed may have saved what it never signalled: found at once, or once its grace is over.
_AFTER_START = (0.0, SIGNAL_GRACE_SECONDS + 1.0)
_SWEEP_SECONDS = 15.0
_log = logging.getLogger("parley.server")


class Application:
    """Serves a Service. `keep_house` has to run in the same event loop for as long as it serves."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._workers = Workers("parley-http", WORKERS)
        self._http = HttpServer(service, self._workers)
        self._sockets = SocketServer(service, self._workers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI entry point."""
        server = self._http if scope["type"] == "http" else self._sockets
        try:
            await server.serve(scope, receive, send)
        except OSError:
            pass  # the client went away in the middle
        except Exception:
            _log.exception("%s %s failed", scope["type"], scope["path"])
            raise

    async def keep_house(self) -> None:
        """What EventBridge and DynamoDB's TTL do on AWS: repair, and throw expired items away."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._end_overdue())
            if self._service.working:
                tasks.create_task(self._repair_now_and_then())

    async def _end_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self._service.hub.end_overdue(loop.time())

    async def _repair_now_and_then(self) -> None:
        for pause in itertools.chain(_AFTER_START, itertools.repeat(REPAIR_SECONDS)):
            await asyncio.sleep(pause)
            await self._repair()

    def stop(self) -> None:
        """Let the threads end."""
        self._workers.stop()
        self._http.stop()

    async def _repair(self) -> None:
        event = schedule_event(self._service.now())
        context = InvocationContext("on_schedule")
        # A thread that cannot be repaired must not keep what is old: each is tried whatever came of the other.
        await self._try("repair", lambda: self._service.handlers.repair(event, context))
        await self._try("cleaning up", self._service.purge)

    async def _try(self, what: str, work: Callable[[], object]) -> None:
        try:
            await self._workers.run(work)
        except StorageError as error:
            _log.error("%s failed; it is tried again in a minute: %s", what, error)
        except Exception:  # noqa: BLE001 - whatever it was, the next minute is another try
            _log.exception("%s failed; it is tried again in a minute", what)


def schedule_event(now: float) -> dict[str, object]:
    """The event of an EventBridge schedule."""
    return {
        "version": "0",
        "id": "embedded",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": "local",
        "resources": ["arn:aws:events:local:000000000000:rule/repair"],
        "detail": {},
    }
