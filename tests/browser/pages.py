"""What the tests of the chat do and look at, in the words of a person who uses it."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Server

SLOW_WORDS = "one two three four five six seven eight nine ten eleven twelve"
SLOW_REPLY = f'You said: "{SLOW_WORDS}". How can I help?'


def put_agent(server: Server, agent_id: str, **fields: Any) -> None:
    """Add an agent of the scripted provider to the demo project."""
    agent = {"agent_id": agent_id, "name": agent_id, "provider": "scripted", "model": "demo", **fields}
    with server.client() as client:
        client.put(f"/api/projects/demo/agents/{agent_id}", json=agent).raise_for_status()


def put_slow(server: Server, delay: float = 0.1) -> None:
    """The agent ``slow``: a word of its reply every ``delay`` seconds."""
    put_agent(server, "slow", settings={"delay": delay})


def begin(page: Page, server: Server, agent: str = "general-assistant") -> None:
    """An empty conversation with an agent."""
    page.goto(f"{server.url}/#/chat?agent={agent}")
    expect(page.locator("#agent")).to_have_value(agent)


def write(page: Page, text: str) -> None:
    """Write a message and send it with Enter."""
    field = page.get_by_role("textbox", name="Message")
    field.fill(text)
    field.press("Enter")


def replies(page: Page) -> Locator:
    """What agents said, in the conversation and in its subagents."""
    return page.locator("#log .theirs .prose")


def said(page: Page, text: str) -> None:
    """Wait until an agent has said exactly that, once, and is done with it."""
    found = replies(page).filter(has_text=text)
    expect(found).to_have_count(1)
    expect(page.locator("#log .theirs.writing")).to_have_count(0)


def call(page: Page, name: str) -> Locator:
    """A call of a function, by its name in words."""
    return page.locator(".call-item").filter(has=page.locator(f":scope > .call .call-name:text-is('{name}')"))


def card(page: Page) -> Locator:
    """The question that waits."""
    return page.locator(".proposal:not(.settled)")


def at_rest(page: Page) -> None:
    """Nothing is under way, and nothing looks as if it were."""
    expect(page.locator("#phase")).to_have_text("")
    expect(page.locator("#app .spinner:visible")).to_have_count(0)
    expect(page.locator("#stop")).to_be_hidden()


def shows_the_slow_reply_once(page: Page) -> None:
    """The only message was `SLOW_WORDS`, and its answer is there: no sentence twice, none lost, no spinner."""
    said(page, SLOW_REPLY)
    expect(replies(page)).to_have_text([SLOW_REPLY])
    expect(page.locator("#log .mine")).to_have_count(1)
    at_rest(page)
