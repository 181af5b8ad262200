"""A real server on a free port, for tests that speak HTTP and WebSocket to it."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx
from websockets.sync.client import ClientConnection, connect

from parley import wiring
from parley.embedded.server import EmbeddedServer, Service
from parley.embedded.server.assembly import service_of
from parley.installation import Installation

PATIENCE = 30.0


@dataclass
class Served:
    """A running server: its address, its parts, and clients of it."""

    url: str
    data: Path
    service: Service
    installation: Installation

    def token(self, user: str = "dev", project: str = "demo") -> str:
        self.service.enroll(user, project)
        return self.service.issuer.issue(user)

    def client(self, user: str = "dev") -> httpx.Client:
        return httpx.Client(
            base_url=self.url, headers={"authorization": f"Bearer {self.token(user)}"}, timeout=PATIENCE
        )

    def socket(self, query: str, **options: Any) -> ClientConnection:
        address = f"{self.url.replace('http', 'ws', 1)}/ws{query}"
        return connect(address, open_timeout=PATIENCE, compression=None, **options)


@contextmanager
def served(
    data: Path, *, change: Callable[[Service], Service] = lambda service: service, working: bool = True
) -> Iterator[Served]:
    """Serve the folder until the block ends; `change` may replace parts of the service."""
    interval = sys.getswitchinterval()
    server = EmbeddedServer("127.0.0.1", 0)
    installation = wiring.embedded(data, working=working)
    try:
        service = change(service_of(installation))
        server.start(service)
        installation.lock.announce(server.url)
        yield Served(server.url, data, service, installation)
    finally:
        server.stop()
        installation.close()
        wiring.use(None)
        # What a server sets for the rest of its process: here there is one after the other.
        gc.unfreeze()
        sys.setswitchinterval(interval)


def until(condition: Callable[[], Any], *, patience: float = PATIENCE) -> Any:
    """Wait for a condition to hold and give what it gave."""
    deadline = time.monotonic() + patience
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not come true in time"
        threading.Event().wait(0.02)
    return value


def receive(socket: ClientConnection) -> dict[str, Any]:
    """The next frame."""
    frame: dict[str, Any] = json.loads(socket.recv(timeout=PATIENCE))
    return frame


class Command:
    """`parley` in a process of its own, for as long as the block lasts. `shown` is its output so far."""

    def __init__(self, *arguments: str) -> None:
        root = Path(__file__).parents[2]
        folders = [root, root / "functions", root / "layers/runtime", root / "layers/marketer"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "parley.cli", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
            start_new_session=True,
        )
        self.shown = ""
        self.errors = ""
        self._readers = [threading.Thread(target=read) for read in (self._read_output, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.process.kill()
        self.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def wait(self) -> int:
        """Its exit status; all its output has been read then."""
        status = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join()
        return status

    def until_it_shows(self, text: str) -> None:
        """Wait for a piece of output."""
        until(lambda: text in self.shown or self.process.poll() is not None)
        assert text in self.shown, (self.shown, self.errors)

    def type(self, text: str) -> None:
        """Type something."""
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def greeting(self) -> tuple[str, str]:
        """The address and the token of the link that `parley serve` prints."""
        self.until_it_shows("Ctrl-C")
        assert "parley token --user dev" in self.shown
        link = next(line.strip() for line in self.shown.splitlines() if "#token=" in line)
        url, _, token = link.partition("/#token=")
        return url, token

    def _read_output(self) -> None:
        # Piece by piece: a question is shown before its line ends.
        assert self.process.stdout is not None
        while piece := self.process.stdout.read(1):
            self.shown += piece

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors = self.process.stderr.read()
