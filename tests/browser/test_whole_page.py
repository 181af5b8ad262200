"""What holds for every view: it can be used by everybody, it fits a phone, and it is small."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from tests.browser.conftest import Server
from tests.browser.conversation import Conversation
from tests.support.chromium import browsing, sign_in

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
WEIGHT_LIMIT = 300_000
"""Bytes of all files that all views need together, as they are sent."""


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    return shared


@dataclass(frozen=True, slots=True)
class View:
    """One view with something in it: where it is, and what is there once it is whole."""

    address: str
    shows: str


@pytest.fixture(scope="module")
def views(server: Server) -> dict[str, View]:
    """Every view of somebody who is signed in, by name."""
    with server.client() as client:
        answered = Conversation(client, "Show me the top 5 products")
        answered.finish(1)
        asking = Conversation(client, "Please manage products: set the label of the top 2 products to Summer")
        asking.pending()
        client.put("/api/projects/demo/files/notes/plan.md", json={"content": "# Plan"}).raise_for_status()
    return {
        "an empty conversation": View("#/chat", ".agent-card"),
        "an answered conversation": View(f"#/chat/{answered.id}", ".turn > .theirs .prose"),
        "a subagent that asks": View(f"#/chat/{asking.id}", ".subagent .proposal"),
        "what waits for approval": View("#/approvals", ".approvals .proposal"),
        "a run": View(f"#/runs/{answered.id}", ".machine .node.waiting"),
        "a run that waits": View(f"#/runs/{asking.id}", ".subrun .row"),
        "the files": View("#/files", "tbody tr"),
        "a file": View("#/files/notes/plan.md", "pre.content"),
        "a new file": View("#/files?new=", "#entry-text"),
        "the knowledge": View("#/knowledge", "tbody tr"),
    }


def look(page: Page, server: Server, view: View) -> None:
    page.goto(f"{server.url}/{view.address}")
    expect(page.locator(view.shows).first).to_be_visible()


def findings(page: Page, only: dict[str, Any]) -> list[str]:
    """Serious findings of axe, each with the elements that it is about."""
    found: dict[str, Any] = page.evaluate("only => axe.run(document, only)", only)
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]


def findings_in_both_schemes(page: Page) -> list[str]:
    """In the dark only the colours are others."""
    page.emulate_media(color_scheme="light")
    light = findings(page, RULES)
    page.emulate_media(color_scheme="dark")
    return [*light, *(f"in the dark: {each}" for each in findings(page, COLOURS))]


@pytest.mark.skipif(not AXE.exists(), reason="`make test` installs axe-core first; here nobody has")
def test_no_view_keeps_anybody_out(browser: Browser, server: Server, views: dict[str, View]) -> None:
    # axe writes markup of its own, which the page's policy would refuse.
    with browsing(browser, bypass_csp=True, reduced_motion="reduce") as context:
        page = sign_in(context, server.link)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        problems = {}
        for name, view in views.items():
            look(page, server, view)
            if name == "a run":
                for head in page.locator(".row-head").all()[:6]:
                    head.click()
            problems[name] = findings_in_both_schemes(page)
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator(".sign-in-card")).to_be_visible()
        problems["signing in"] = findings_in_both_schemes(page)
    assert {name: found for name, found in problems.items() if found} == {}


def test_every_view_fits_a_phone_and_all_together_weigh_less_than_a_photograph(
    browser: Browser, server: Server, views: dict[str, View]
) -> None:
    loaded: dict[str, int] = {}

    def weigh(response: Response) -> None:
        if "/api/" not in response.url and response.ok:
            loaded[response.url.partition("?")[0]] = int(response.headers["content-length"])

    with browsing(browser, viewport={"width": 360, "height": 640}, is_mobile=True) as context:
        context.on("response", weigh)
        page = sign_in(context, server.link)
        for name, view in views.items():
            look(page, server, view)
            for part in ("html", "#app"):
                # A moment after the view is there, its pieces have found their places.
                expect(page.locator(part), name).to_have_js_property("scrollWidth", 360)
    assert all(url.startswith(server.url) for url in loaded)
    assert sum(loaded.values()) < WEIGHT_LIMIT, loaded
