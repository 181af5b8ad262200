"""What the server takes: bodies up to a size, and those who wait for events as far as there is room for them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from parley.embedded.gateway import MAX_BODY
from parley.embedded.server.http import PUT_OFF_RATE, HttpServer, _body
from parley.embedded.server.workers import Workers

WORKERS = Workers("test", 1)


@pytest.fixture
def server(tmp_path: Path) -> HttpServer:
    """With all its waiters busy."""
    service = SimpleNamespace(
        handlers=SimpleNamespace(http=None),
        issuer=SimpleNamespace(verify=None),
        enroll=None,
        import_session=None,
        pages=tmp_path,
        routes=(),
        public=frozenset(),
        cors=None,
        now=None,
    )
    server = HttpServer(cast("Any", service), WORKERS)
    cast("Any", server)._waiters = SimpleNamespace(busy=True)
    return server


def slept(server: HttpServer, monkeypatch: pytest.MonkeyPatch, *waits: str) -> list[float]:
    """For how long requests that come in one instant are put off."""
    found: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        found.append(seconds)
        await sleep(0)

    async def all_at_once() -> None:
        events = [{"queryStringParameters": {"wait": wait}} for wait in waits]
        workers = await asyncio.gather(*(server._workers_for(event) for event in events))
        assert workers == [WORKERS] * len(waits)
        assert all(event["queryStringParameters"]["wait"] == "0" for event in events)

    monkeypatch.setattr(asyncio, "sleep", note)
    asyncio.run(all_at_once())
    return found


def test_the_wait_that_was_asked_for_is_an_upper_bound(
    server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert slept(server, monkeypatch, "0.25", "20") == [0.25, 1.0]


def test_the_more_are_put_off_the_longer(server: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    found = slept(server, monkeypatch, *["20"] * 200)
    assert (found[0], found[-1]) == (1.0, 200 / PUT_OFF_RATE)
    assert slept(server, monkeypatch, "20") == [1.0]


@pytest.mark.parametrize("wait", ["soon", "-1", "nan", "21", "", "0"])
def test_a_wait_that_is_none_goes_to_the_handler_as_it_is(server: HttpServer, wait: str) -> None:
    event = {"queryStringParameters": {"wait": wait}}
    assert asyncio.run(server._workers_for(event)) is WORKERS
    assert event["queryStringParameters"]["wait"] == wait


def test_a_body_that_says_it_is_too_large_is_not_even_read() -> None:
    async def receive() -> dict[str, Any]:
        raise AssertionError

    assert asyncio.run(_body(receive, [(b"content-length", str(MAX_BODY + 1).encode())])) is None


@pytest.mark.parametrize(("size", "whole"), [(MAX_BODY // 4, True), (MAX_BODY // 4 + 1, False)])
def test_a_body_that_does_not_say_its_size_is_read_as_far_as_the_limit(size: int, whole: bool) -> None:
    parts: list[bytes] = []

    async def receive() -> dict[str, Any]:
        parts.append(size * b"x")
        assert len(parts) <= 4
        return {"type": "http.request", "body": parts[-1], "more_body": not whole or len(parts) < 4}

    assert asyncio.run(_body(receive, [])) == (b"".join(parts) if whole else None)
    assert len(parts) == 4
