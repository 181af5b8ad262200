"""A real browser for the tests of the page: the machine's own Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

PATIENCE = 30.0
"""Seconds in which something must come about: a busy machine is no broken page."""
MISSING = "the page's tests need Chromium or Chrome on the PATH (on Debian: apt-get install chromium-headless-shell)"
# The shell is the same engine without a browser's windows around it: a new profile costs it half as much.
_PROGRAMS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


def program() -> str | None:
    """The browser of this machine, if it has one."""
    return next((path for name in _PROGRAMS if (path := shutil.which(name))), None)


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """A headless browser, until the block ends. What a test expects of its pages may take a while."""
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=[*_FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


class Troubles:
    """What went wrong in the pages of a context: scripts that failed, and what the page's policy refused."""

    def __init__(self, context: BrowserContext) -> None:
        self.seen: list[str] = []
        context.on("weberror", lambda failed: self.seen.append(str(failed.error)))
        context.on("console", self._read)

    def _read(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or "TrustedHTML" in message.text:
            self.seen.append(message.text)


@contextmanager
def browsing(browser: Browser, **options: object) -> Iterator[BrowserContext]:
    """A profile of its own in the browser; fails at its end if a script failed or the policy was broken."""
    context = browser.new_context(**options)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE * 1000)
    troubles = Troubles(context)
    try:
        yield context
        assert troubles.seen == []
    finally:
        # A route that is answered at this very moment is of no interest to anybody any more.
        for page in context.pages:
            page.unroute_all(behavior="ignoreErrors")
        context.unroute_all(behavior="ignoreErrors")
        context.close()


def sign_in(context: BrowserContext, link: str) -> Page:
    """Open the link that `parley serve` prints, in a new tab."""
    page = context.new_page()
    page.goto(link)
    return page
