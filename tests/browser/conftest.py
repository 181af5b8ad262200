"""The page in a real browser: `server` is a real `parley serve` with its own folder, `page` is signed in to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.chromium import MISSING, browsing, chromium, program, sign_in
from tests.support.served import PATIENCE, Command


@dataclass(frozen=True, slots=True)
class Server:
    """A running `parley serve`."""

    command: Command
    url: str
    token: str
    data: Path

    @property
    def link(self) -> str:
        """The link that opens the page signed in as `dev`."""
        return f"{self.url}/#token={self.token}"

    def client(self) -> httpx.Client:
        """An HTTP client that is signed in as `dev`."""
        return httpx.Client(
            base_url=self.url, headers={"authorization": f"Bearer {self.token}"}, timeout=PATIENCE
        )


# Not for the whole session: while Playwright runs, its thread can run no other event loop.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if program() is None:
        pytest.skip(MISSING)
    with chromium() as started:
        yield started


@contextmanager
def serving(data: Path) -> Iterator[Server]:
    """A server until the block ends, for modules whose tests can share one."""
    with Command("serve", "--port", "0", "--data", str(data)) as command:
        url, token = command.greeting()
        yield Server(command, url, token, data)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "data") as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser profile; the test fails if a script did, or if something broke the page's policy."""
    with browsing(browser) as opened:
        yield opened


@pytest.fixture
def page(context: BrowserContext, server: Server) -> Page:
    return sign_in(context, server.link)
