"""The page in a real browser: `server` serves a data folder of the test's own, `page` is signed in to it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from parley import wiring
from parley.embedded.issuer import LocalIssuer
from tests.support.chromium import MISSING, browsing, chromium, program, sign_in
from tests.support.served import PATIENCE, served


@dataclass(frozen=True, slots=True)
class Server:
    """A running server and the folder that it serves."""

    url: str
    data: Path

    @property
    def token(self) -> str:
        """A token of `dev`, who owns the project `demo`."""
        return self.token_of("dev")

    @property
    def link(self) -> str:
        """The link that opens the page signed in as `dev`."""
        return f"{self.url}/#token={self.token}"

    def token_of(self, user: str) -> str:
        """A token of anybody, as whoever can read the folder can make it."""
        return LocalIssuer(self.data, time.time).issue(user)

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


@pytest.fixture(scope="session")
def new_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder as its first start leaves it. A copy of it is served at once: it has its key and the demo."""
    data = tmp_path_factory.mktemp("new") / "data"
    wiring.embedded(data).close()
    wiring.use(None)
    return data


@contextmanager
def serving(data: Path) -> Iterator[Server]:
    """Serve a folder from threads of this process until the block ends; one server at a time."""
    with served(data) as running:
        yield Server(running.url, data)


@pytest.fixture
def data(tmp_path: Path, new_folder: Path) -> Path:
    """A new folder for one test."""
    return shutil.copytree(new_folder, tmp_path / "data")


@pytest.fixture
def server(data: Path) -> Iterator[Server]:
    with serving(data) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, new_folder: Path) -> Iterator[Server]:
    """One server for a whole module, whose tests change nothing there that another would see.

    They take no `server` beside it: a process has one at a time.
    """
    with serving(shutil.copytree(new_folder, tmp_path_factory.mktemp("shared") / "data")) as running:
        yield running


@pytest.fixture(scope="module")
def modules(shared: Server, browser: Browser) -> Iterator[Page]:
    """The page, for tests that only ask its modules what they make of what they are given."""
    with browsing(browser) as opened:
        yield sign_in(opened, shared.link)


# After the server, so that it ends before it: a page that is still there would hold the server up.
@pytest.fixture
def context(server: Server, browser: Browser) -> Iterator[BrowserContext]:
    """A browser profile; the test fails if a script did, or if something broke the page's policy."""
    with browsing(browser) as opened:
        yield opened


@pytest.fixture
def page(context: BrowserContext, server: Server) -> Page:
    return sign_in(context, server.link)
