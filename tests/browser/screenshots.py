"""``python -m tests.browser.screenshots`` (or ``make screenshots``): the pictures of the page in `docs/images`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Server, serving
from tests.browser.pages import at_rest, begin, card, said, write
from tests.support.chromium import MISSING, browsing, chromium, program, sign_in

IMAGES = Path(__file__).parents[2] / "docs/images"
LARGEST = 150_000
"""Bytes of a picture: who clones the repository gets all of them."""
SIZE = {"width": 1120, "height": 720}


def chat(page: Page, server: Server) -> None:
    """A table, a list and code in an answered conversation."""
    begin(page, server)
    write(page, "Show me the top 5 products")
    said(page, "Here is what getTopProducts found")


def confirmation(page: Page, server: Server) -> None:
    """An action that waits for a decision."""
    begin(page, server)
    write(page, "Please refund order A-1003, it arrived broken")
    expect(card(page)).to_be_visible()


def subagent(page: Page, server: Server) -> None:
    """A subagent at work, whose own action waits."""
    begin(page, server)
    write(page, "Please manage products: set the label of the top 3 products to Summer")
    expect(card(page)).to_be_visible()


def inspector(page: Page, server: Server) -> None:
    """The run of the subagent's conversation."""
    subagent(page, server)
    card(page).get_by_role("button", name="Confirm").click()
    at_rest(page)
    thread = page.url.rpartition("/")[2]
    page.goto(f"{server.url}/#/runs/{thread}")
    expect(page.locator(".run-line")).to_be_visible()


def machine(page: Page, server: Server) -> None:
    """The state machine, with where a conversation waits."""
    inspector(page, server)
    page.locator(".machine-frame").scroll_into_view_if_needed()
    page.locator("#machine-title").evaluate("title => title.scrollIntoView()")


SCENES: dict[str, tuple[Callable[[Page, Server], None], str]] = {
    "chat": (chat, "light"),
    "confirmation": (confirmation, "light"),
    "subagent": (subagent, "dark"),
    "inspector": (inspector, "light"),
    "machine": (machine, "light"),
}


def take(browser: Browser, server: Server, name: str) -> Path:
    """One picture."""
    scene, scheme = SCENES[name]
    path = IMAGES / f"{name}.png"
    with browsing(browser, viewport=SIZE, color_scheme=scheme, reduced_motion="reduce") as context:
        page = sign_in(context, server.link)
        scene(page, server)
        page.mouse.move(0, 0)
        page.wait_for_timeout(300)  # scrolling comes to rest
        page.screenshot(path=path)
    return path


def main() -> int:
    """Take all pictures, or those that are named."""
    if program() is None:
        print(MISSING, file=sys.stderr)
        return 1
    IMAGES.mkdir(exist_ok=True)
    with chromium() as browser:
        for name in sys.argv[1:] or SCENES:
            with tempfile.TemporaryDirectory() as data, serving(Path(data)) as server:
                path = take(browser, server, name)
            size = path.stat().st_size
            print(f"{path.relative_to(IMAGES.parents[1])}: {size:,} bytes")
            if size > LARGEST:
                print(f"  that is more than {LARGEST:,}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
