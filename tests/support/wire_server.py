"""A local HTTP server that answers as a model provider would, in pieces as awkward as a test wants."""

import json
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What the server sends: the body's pieces as chunks, then the end, or ``abrupt``: a broken connection.

    ``hold``: before the end the server waits until this is set, or until its client is gone; ``rest`` comes then.
    """

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    abrupt: bool = False
    hold: threading.Event | None = None
    rest: tuple[bytes, ...] = ()


def json_answer(body: Any, status: int = 200, **more: Any) -> Answer:
    return Answer((json.dumps(body).encode(),), status, {"content-type": "application/json"}, **more)


@dataclass(frozen=True)
class Received:
    """A request as it came. Header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class WireServer(ThreadingHTTPServer):
    """Gives its ``answers`` in turn and keeps what it ``received``."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers: deque[Answer] = deque()
        self.received: list[Received] = []
        self.client_left = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WireServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        said = json.loads(body) if body else None
        self.server.received.append(Received(self.command, self.path, headers, said))
        answer = self.server.answers.popleft() if self.server.answers else Answer(status=503)
        self.close_connection = True
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            self._send(answer)
        except OSError:
            self.server.client_left.set()

    def do_GET(self) -> None:
        self.do_POST()

    def do_DELETE(self) -> None:
        self.do_POST()

    def _send(self, answer: Answer) -> None:
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._write(answer.pieces)
        if answer.hold is not None:
            self._wait(answer.hold)
            self.connection.settimeout(None)  # what is still to be written may take its time
        self._write(answer.rest)
        if not answer.abrupt:
            self.wfile.write(b"0\r\n\r\n")

    def _write(self, pieces: tuple[bytes, ...]) -> None:
        for piece in pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

    def _wait(self, hold: threading.Event) -> None:
        self.connection.settimeout(0.05)
        while not hold.is_set():
            try:
                if not self.connection.recv(1):
                    self.server.client_left.set()
                    return
            except TimeoutError:
                continue

    def log_message(self, format: str, *args: object) -> None:
        """Not a word."""


@contextmanager
def wire_server() -> Iterator[WireServer]:
    """The server, listening until the block ends."""
    server = WireServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(120)
