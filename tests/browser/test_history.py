"""Conversations that are read back: from their end, page by page, and from their messages where no events are left."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server
from tests.browser.conversation import Conversation
from tests.browser.pages import said

MANY = 120
"""Turns whose events the page reads in four pieces."""


def test_a_long_conversation_is_read_from_its_end_and_further_back_on_demand(
    page: Page, server: Server
) -> None:
    with server.client() as client:
        conversation = Conversation(client, "number 0", turns_per_run=50)
        for number in range(1, MANY):
            while client.post(conversation.path, json={"message": f"number {number}"}).status_code == 429:
                client.get(f"{conversation.path}/events", params={"after": 10**6, "wait": 0.3})
        conversation.finish(MANY)
    page.goto(f"{server.url}/#/chat/{conversation.id}")
    expect(page.locator("#log .mine").last).to_contain_text(f"number {MANY - 1}")
    said(page, f'You said: "number {MANY - 1}"')
    assert page.locator("#log .mine").count() < MANY
    log = page.locator("#log")
    while page.locator("#log .mine").count() < MANY:
        before = page.locator("#log .turn").first.get_attribute("data-turn")
        log.evaluate("log => (log.scrollTop = 0)")
        expect(page.locator("#log .turn").first).not_to_have_attribute("data-turn", before or "")
    expect(page.locator("#log .mine-text")).to_have_text([f"number {number}" for number in range(MANY)])


def test_a_conversation_without_events_is_shown_from_its_messages(page: Page, server: Server) -> None:
    """As of imported threads, and of those whose events are kept no longer."""
    with server.client() as client:
        conversation = Conversation(client, "Top 2 products")
        conversation.say("Manage products: change label for top 2")
        conversation.decide(approved=True)
        conversation.finish(2)
    page.goto(f"{server.url}/#/chat/{conversation.id}")
    expect(page.locator(".turn:last-child > .theirs")).to_contain_text("Done.")
    shapes = (
        "[...document.querySelectorAll('#log .turn > *')].map((one) => one.className + one.dataset.status)"
    )
    before = page.evaluate(shapes)
    page.route(
        "**/events?before=*", lambda route: route.fulfill(json={"events": [], "next": 999, "previous": None})
    )
    page.reload()
    expect(page.locator(".turn:last-child > .theirs")).to_contain_text("Done.")
    assert page.evaluate(shapes) == before
    page.locator(".subagent > summary").click()
    page.locator(".subagent .call-name").nth(1).wait_for()
    assert page.locator(".subagent .call-name").all_inner_texts() == [
        "Get top products",
        "Change custom label",
    ]
