"""What holds for every view: it can be used by everybody, it is small, and it runs nothing but its own files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, Response, expect

from tests.browser.conftest import Server
from tests.support.chromium import browsing, sign_in
from tests.support.served import until

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
WEIGHT_LIMIT = 300_000
"""Bytes of all files that all views need together, as they are sent."""
EVIL = [
    "<script>window.owned=1</script>",
    "<img src=x onerror=window.owned=1>",
    "[click](javascript:window.owned=1)",
    "<svg onload=window.owned=1>",
    "<a href='javascript:window.owned=1'>x</a>",
    "![x](x onerror=window.owned=1)",
    "<iframe srcdoc='<script>parent.owned=1</script>'></iframe>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.owned=1>",
]


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    return shared


@pytest.fixture(scope="module")
def addresses(server: Server) -> dict[str, str]:
    """Every view with something in it, by name."""
    project = "/api/projects/demo"
    with server.client() as client:

        def begin(message: str) -> str:
            path = f"{project}/agents/general-assistant/chat"
            return str(client.post(path, json={"message": message}).raise_for_status().json()["thread_id"])

        def pending(thread: str) -> bool:
            return bool(client.get(f"{project}/chat-threads/{thread}").json()["pending"])

        answered = begin("Show me the top 5 products")
        until(lambda: client.get(f"{project}/chat-threads/{answered}").json()["turns"] == 1)
        asking = begin("Please manage products: set the label of the top 2 products to Summer")
        until(lambda: pending(asking))
        client.put(f"{project}/files/notes/plan.md", json={"content": "# Plan"}).raise_for_status()
    return {
        "an empty conversation": "#/chat",
        "an answered conversation": f"#/chat/{answered}",
        "a subagent that asks": f"#/chat/{asking}",
        "what waits for approval": "#/approvals",
        "a run": f"#/runs/{answered}",
        "a run that waits": f"#/runs/{asking}",
        "the files": "#/files",
        "a file": "#/files/notes/plan.md",
        "a new file": "#/files?new=",
        "the knowledge": "#/knowledge",
    }


def finished(client: httpx.Client, path: str) -> bool:
    return bool(client.get(path).json()["turns"] == 1)


def settled(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    expect(page.locator("main").first).not_to_be_empty()


def findings(page: Page) -> list[str]:
    """Serious findings of axe, each with the elements that it is about."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("rules => axe.run(document, rules)", RULES)
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]


@pytest.mark.skipif(not AXE.exists(), reason="`make test` installs axe-core first; here nobody has")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_keeps_anybody_out(
    browser: Browser, server: Server, addresses: dict[str, str], scheme: str
) -> None:
    # axe writes markup of its own, which the page's policy would refuse.
    with browsing(browser, bypass_csp=True, color_scheme=scheme, reduced_motion="reduce") as context:
        page = sign_in(context, server.link)
        problems = {}
        for name, address in addresses.items():
            page.goto(f"{server.url}/{address}")
            settled(page)
            if name == "a run":
                for head in page.locator(".row-head").all()[:6]:
                    head.click()
            problems[name] = findings(page)
        page.get_by_role("button", name="Sign out").click()
        expect(page.locator(".sign-in-card")).to_be_visible()
        problems["signing in"] = findings(page)
    assert {name: found for name, found in problems.items() if found} == {}


def test_a_view_that_is_too_narrow_for_a_desk_fits_a_phone(
    browser: Browser, server: Server, addresses: dict[str, str]
) -> None:
    with browsing(browser, viewport={"width": 360, "height": 640}, is_mobile=True) as context:
        page = sign_in(context, server.link)
        for name, address in addresses.items():
            page.goto(f"{server.url}/{address}")
            settled(page)
            for part in ("html", "#app"):
                # A moment after the view is there, its pieces have found their places.
                expect(page.locator(part), name).to_have_js_property("scrollWidth", 360)


def test_the_whole_page_weighs_less_than_a_photograph(
    browser: Browser, server: Server, addresses: dict[str, str]
) -> None:
    loaded: dict[str, int] = {}

    def weigh(response: Response) -> None:
        if "/api/" not in response.url and response.ok:
            loaded[response.url.partition("?")[0]] = int(response.headers["content-length"])

    with browsing(browser) as context:
        context.on("response", weigh)
        page = sign_in(context, server.link)
        for address in addresses.values():
            page.goto(f"{server.url}/{address}")
            settled(page)
    assert all(url.startswith(server.url) for url in loaded)
    assert sum(loaded.values()) < WEIGHT_LIMIT, loaded


def test_nothing_that_people_or_models_write_is_ever_run(page: Page, server: Server) -> None:
    with server.client() as client:
        project = "/api/projects/demo"
        message = "\n\n".join(EVIL)
        body = {"message": f"{message}\n\ntop 2 products"}
        thread = client.post(f"{project}/agents/general-assistant/chat", json=body).json()["thread_id"]
        echoed = client.post(f"{project}/agents/general-assistant/chat", json={"message": message}).json()
        for each in (thread, echoed["thread_id"]):
            path = f"{project}/chat-threads/{each}"
            until(partial(finished, client, path))
    for address in (f"#/chat/{thread}", f"#/chat/{echoed['thread_id']}", f"#/runs/{thread}", "#/approvals"):
        page.goto(f"{server.url}/{address}")
        settled(page)
    assert page.evaluate("window.owned") is None
    assert page.locator("main script, main iframe, main [onerror], main [onload]").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0


def test_without_its_markdown_the_page_shows_texts_as_they_came(browser: Browser, server: Server) -> None:
    with browsing(browser) as context:
        context.route("**/vendor/*", lambda route: route.abort())
        page = sign_in(context, server.link)
        page.goto(f"{server.url}/#/chat?agent=general-assistant")
        field = page.get_by_role("textbox", name="Message")
        field.fill("**Hello** <b>there</b>")
        field.press("Enter")
        expect(page.locator("#log .theirs .prose")).to_have_text(
            'You said: "**Hello** <b>there</b>". How can I help?'
        )
