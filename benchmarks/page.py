"""The page in a real browser: how soon it can be used, and how smoothly it scrolls and streams in a long conversation.

``parley serve`` runs in a process of its own and pushes every chunk by itself. The browser is the machine's Chromium,
headless, without a graphics card; client, server and browser share its processors. A frame is what lies between
two calls of ``requestAnimationFrame``; a long task is what Chromium reports as one (over 50 ms).
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import httpx
from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks.turns import Served, member_token, server
from tests.support.chromium import MISSING, browsing, chromium, program

LOADS = 10
MESSAGES = 2000
CHUNKS_PER_SECOND = 100
STREAMED = 600
REPLY = """Of **this** I know:

- it is `here`
- it has [a link](https://example.com)

| a | b |
|---|---|
| 1 | 2 |
"""
WORDS = [f"word{number} " for number in range(STREAMED)]
LONG = {
    "agent_id": "long",
    "name": "Long",
    "provider": "scripted",
    "model": "demo",
    "turns_per_run": 50,
    "settings": {
        "script": [
            {
                "when": "stream",
                "chunks": [f"word{number} " for number in range(STREAMED)],
                "chunk_delay": 1 / CHUNKS_PER_SECOND,
            },
            {"when": "turn", "text": REPLY},
        ]
    },
}
# The page's policy lets nothing be evaluated in it, so a wait is a promise.
TIMES = """
() => new Promise((done) => {
  const look = () => {
    const [painted] = performance.getEntriesByName("first-contentful-paint");
    if (painted && window.usable) done([painted.startTime, window.usable]);
    else setTimeout(look, 5);
  };
  look();
})
"""
USABLE = """
new MutationObserver((_, observer) => {
  const field = document.querySelector("#message");
  if (field?.offsetParent && !field.disabled && window.usable === undefined) {
    requestAnimationFrame(() => { window.usable = performance.now(); });
    observer.disconnect();
  }
}).observe(document, { subtree: true, childList: true, attributes: true });
"""
WATCH = """
() => {
  const seen = { frames: [], tasks: [], last: performance.now(), on: true };
  const frame = (now) => {
    seen.frames.push(now - seen.last);
    seen.last = now;
    if (seen.on) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((entry) => entry.duration)))
    .observe({ type: "longtask" });
  window.seen = seen;
}
"""
SEEN = "() => { window.seen.on = false; return { frames: window.seen.frames.slice(2), tasks: window.seen.tasks }; }"
SCROLL = """
async (pixels) => {
  const log = document.querySelector("#log");
  const still = () => new Promise((done) => requestAnimationFrame(done));
  for (let rested = 0; rested < 60;) {
    const before = log.scrollTop;
    log.scrollTop -= pixels;
    await still();
    rested = before === log.scrollTop ? rested + 1 : 0;
  }
  return log.scrollHeight;
}
"""


def client_of(running: Served) -> httpx.Client:
    """Signed in as `dev`."""
    token = member_token(running, "dev")
    return httpx.Client(base_url=running.url, headers={"authorization": f"Bearer {token}"}, timeout=60)


def first_use(browser: Browser, link: str) -> tuple[list[float], list[float]]:
    """Milliseconds from the beginning of the navigation to the first paint, and to a composer that takes text."""
    painted, usable = [], []
    with browsing(browser) as context:
        context.add_init_script(USABLE)
        page = context.new_page()
        page.goto(link)
        page.evaluate(TIMES)
        for _ in range(LOADS):
            page.reload()
            first, ready = page.evaluate(TIMES)
            painted.append(first)
            usable.append(ready)
    return painted, usable


def long_thread(client: httpx.Client) -> str:
    """A thread with so many messages."""
    project = "/api/projects/demo"
    client.put(f"{project}/agents/long", json=LONG).raise_for_status()
    thread = ""
    for turn in range(MESSAGES // 2):
        body = {"message": f"turn {turn}"}
        if not thread:
            thread = (
                client.post(f"{project}/agents/long/chat", json=body).raise_for_status().json()["thread_id"]
            )
            continue
        while (
            client.post(f"{project}/chat-threads/{thread}", json=body).status_code
            == httpx.codes.TOO_MANY_REQUESTS
        ):
            time.sleep(0.02)
    while client.get(f"{project}/chat-threads/{thread}").json()["turns"] < MESSAGES // 2:
        time.sleep(0.1)
    return thread


def measured(page: Page) -> dict[str, Any]:
    """What was seen since WATCH."""
    seen: dict[str, Any] = page.evaluate(SEEN)
    return seen


def scrolled(page: Page) -> dict[str, Any]:
    """From the end to the first message, a third of a screen per frame; older messages are loaded on the way."""
    page.evaluate(WATCH)
    page.evaluate(SCROLL, 250)
    return measured(page)


def streamed(page: Page) -> dict[str, Any]:
    """At the end, while a reply comes in."""
    field = page.get_by_role("textbox", name="Message")
    field.fill("stream")
    page.evaluate(WATCH)
    field.press("Enter")
    page.locator("#log .theirs.writing").wait_for()
    page.locator("#log .theirs.writing").wait_for(state="detached")
    return measured(page)


def row(name: str, seen: dict[str, Any]) -> str:
    """A line of the table."""
    frames, tasks = sorted(seen["frames"]), seen["tasks"]
    quick = 100 * sum(frame < 20 for frame in frames) / len(frames)
    p95 = frames[int(len(frames) * 0.95)]
    return f"{name:44} {len(frames):7} {quick:7.1f} % {p95:8.1f} {max(tasks, default=0):10.0f}"


def smoothness(context: BrowserContext, link: str, url: str, thread: str) -> None:
    """Print how a long thread scrolls and streams."""
    page = context.new_page()
    page.goto(link)
    page.goto(f"{url}/#/chat/{thread}")
    page.locator("#log .theirs .prose").last.wait_for()
    page.wait_for_timeout(1000)
    print(f"{'':44} {'frames':>7} {'< 20 ms':>9} {'p95, ms':>8} {'task, ms':>10}")
    print(row(f"{CHUNKS_PER_SECOND} chunks/s behind {MESSAGES} messages", streamed(page)))
    print(row("scrolling from the end to the beginning", scrolled(page)))
    print(row(f"{CHUNKS_PER_SECOND} chunks/s, all messages on the page", streamed(page)))
    page.wait_for_timeout(1000)
    print(row("scrolling, all messages on the page", scrolled(page)))


def main() -> None:
    """Print all of it."""
    if program() is None:
        print(f"the page is not measured: {MISSING}", file=sys.stderr)
        return
    with (
        server(PARLEY_CHUNK_MILLISECONDS="0") as running,
        chromium() as browser,
        client_of(running) as client,
    ):
        link = f"{running.url}/#token={client.headers['authorization'].removeprefix('Bearer ')}"
        painted, usable = first_use(browser, link)
        first, ready = statistics.median(painted), statistics.median(usable)
        print(f"first paint {first:.0f} ms, usable {ready:.0f} ms (median of {LOADS} loads)")
        thread = long_thread(client)
        with browsing(browser, viewport={"width": 1280, "height": 800}) as context:
            smoothness(context, link, running.url, thread)


if __name__ == "__main__":
    main()
