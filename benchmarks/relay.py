"""What Parley adds between a provider's chunk and the client's event.

A local server speaks OpenAI's stream; each of its chunks says when it was sent. A bare httpx reader and a client of
``parley serve`` (which stores every flush before it pushes it) read the same streams in the same run, 1 and 20 at
once, a chunk every 20 ms per stream. Milliseconds from sent to seen.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

from benchmarks.turns import Conversation, Http, Served, member_token, server

CHUNKS, PAUSE = 60, 0.02


class _Model(BaseHTTPRequestHandler):
    """Streams ``CHUNKS`` pieces of text, each the monotonic nanoseconds of its sending."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for _ in range(CHUNKS):
            time.sleep(PAUSE)
            self._send({"choices": [{"index": 0, "delta": {"content": f"{time.monotonic_ns()} "}}]})
        self._send({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _send(self, data: dict[str, object]) -> None:
        self._chunk(b"data: " + json.dumps(data).encode() + b"\n\n")

    def _chunk(self, body: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a line per request is not wanted here."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: a client that hangs up is no news here."""


@contextmanager
def model() -> Iterator[str]:
    """The address of a running model server."""
    serving = _Server(("127.0.0.1", 0), _Model)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{serving.server_port}/v1"
    finally:
        serving.shutdown()


def _late(text: str) -> list[float]:
    """Milliseconds since each piece was sent."""
    now = time.monotonic_ns()
    return [(now - int(sent)) / 1e6 for sent in text.split()]


async def bare(url: str, streams: int) -> list[float]:
    """A reader with nothing around it."""

    async def read(client: httpx.AsyncClient) -> list[float]:
        late: list[float] = []
        async with client.stream("POST", f"{url}/chat/completions", json={}) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    delta = json.loads(line[6:])["choices"][0]["delta"]
                    late += _late(delta.get("content", ""))
        return late

    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=100)) as client:
        return [ms for some in await asyncio.gather(*(read(client) for _ in range(streams))) for ms in some]


class _Listener(Conversation):
    """A conversation that notes how late its chunks are."""

    async def listen(self) -> list[float]:
        late: list[float] = []
        await self.say("Go")
        async for frame in self.frames_until_end():
            if frame["event"] == "StreamMessageChunk":
                late += _late(frame["data"]["text"])
        return late


async def relayed(served: Served, streams: int) -> list[float]:
    """The same through Parley."""
    owner = Http(served, member_token(served, "dev"))
    agent = {"agent_id": "relay", "name": "Relay", "provider": "openai", "model": "m"}
    await owner.call("PUT", "/api/projects/demo/agents/relay", agent)
    users = [f"relay{number}" for number in range(streams)]
    held = [_Listener(served, user, member_token(served, user), "relay") for user in users]
    await asyncio.gather(*(listener.open() for listener in held))
    late = await asyncio.gather(*(listener.listen() for listener in held))
    await asyncio.gather(*(listener.close() for listener in held))
    return [ms for some in late for ms in some]


def _figures(late: list[float]) -> dict[str, float]:
    late.sort()
    return {"p50_ms": round(late[len(late) // 2], 2), "p99_ms": round(late[int(len(late) * 0.99)], 2)}


def main() -> None:
    """1 and 20 streams, bare and relayed; chunks one by one and gathered for 50 ms."""
    with model() as url:
        for streams in (1, 20):
            print(
                json.dumps(
                    {"reader": "bare httpx", "streams": streams, **_figures(asyncio.run(bare(url, streams)))}
                )
            )
        for milliseconds in ("0", "50"):
            with server(PARLEY_CHUNK_MILLISECONDS=milliseconds, OPENAI_BASE_URL=url) as served:
                for streams in (1, 20):
                    figures = _figures(asyncio.run(relayed(served, streams)))
                    row = {"reader": "parley", "chunk_milliseconds": int(milliseconds), "streams": streams}
                    print(json.dumps({**row, **figures}), flush=True)


if __name__ == "__main__":
    main()
