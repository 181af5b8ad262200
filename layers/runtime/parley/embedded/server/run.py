"""Running the embedded server: its port, its event loop, and how it stops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import uvicorn

from parley.domain.errors import ParleyError
from parley.embedded.gateway_socket import MAX_FRAME, MAX_MESSAGE
from parley.embedded.server.app import Application
from parley.embedded.server.contracts import Service

_STOP_SECONDS = 3
_SWITCH_SECONDS = 0.0005
_START_SECONDS = 15.0


class PortUnavailable(ParleyError):
    """The address cannot be listened on; the message says which and why."""


class _Uvicorn(uvicorn.Server):
    """uvicorn, with the signals left to us: it would end the process before the store is closed."""

    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()


class EmbeddedServer:
    """One server on one port. `listen` first; then `run` (this thread) or `start` (its own thread)."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = listen(host, port)
        bound_port = self._socket.getsockname()[1]
        self.url = f"http://{_shown(host)}:{bound_port}"
        self._uvicorn: _Uvicorn | None = None
        self._started = threading.Event()
        self._thread: threading.Thread | None = None

    def run(self, service: Service, *, on_started: Callable[[], None] = lambda: None) -> None:
        """Serve until stopped. SIGINT and SIGTERM stop it if this is the main thread; a second one kills."""

        def started() -> None:
            self._started.set()
            on_started()

        _share_the_interpreter()
        application = Application(service)
        self._uvicorn = _Uvicorn(_config(application), started)
        with self._signals(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._serve(self._uvicorn, application, service))
        application.stop()

    def start(self, service: Service) -> None:
        """Serve in a thread of its own; returns once it accepts connections."""
        self._thread = threading.Thread(target=self.run, args=(service,), name="parley-server", daemon=True)
        self._thread.start()
        if not self._started.wait(_START_SECONDS):
            raise PortUnavailable(f"the server on {self.url} did not start")

    def stop(self) -> None:
        """End the server, and wait for it if it has a thread of its own. Harmless if it never ran."""
        if self._uvicorn is not None:
            self._uvicorn.should_exit = True
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS * 3)
        self._socket.close()

    async def _serve(self, server: _Uvicorn, application: Application, service: Service) -> None:
        service.hub.bind(asyncio.get_running_loop())
        housekeeping = asyncio.create_task(application.keep_house())
        try:
            await server.serve(sockets=[self._socket])
        finally:
            housekeeping.cancel()
            await asyncio.gather(housekeeping, return_exceptions=True)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            for again in before:
                signal.signal(again, signal.SIG_DFL)
            if self._uvicorn is not None:
                self._uvicorn.should_exit = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _share_the_interpreter() -> None:
    """One turn passes through several threads: a waiting one is let in sooner than after Python's usual 5 ms.

    What was imported so far lives as long as the process: the garbage collector need not look at it again.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.freeze()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, bound before anything else is opened. Raises PortUnavailable."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        # create_server appends the address to the system's words; we have said it already.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise PortUnavailable(f"cannot listen on {host} port {port}: {reason}; try another --port") from error


def _config(application: Application) -> uvicorn.Config:
    # A tuple limits messages and frames apart, as API Gateway does; uvicorn hands it to websockets as it is.
    limits: Any = (MAX_MESSAGE, MAX_FRAME)
    return uvicorn.Config(
        application,
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=limits,
        ws_per_message_deflate=False,  # small frames, often: not worth the processor
        lifespan="off",
        log_config=None,  # uvicorn's own lines would show the tickets in query strings
        log_level="critical",  # what goes wrong in a request is logged by the application
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
        timeout_keep_alive=75,  # longer than clients keep idle connections: they close first
    )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Uvloop's loop where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - not there on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop


def _shown(host: str) -> str:
    """The host as people can open it."""
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
