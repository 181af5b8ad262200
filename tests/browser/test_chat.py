"""Conversations as a person has them on the page, in a real browser against a real server."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Server
from tests.browser.pages import (
    SLOW_REPLY,
    SLOW_WORDS,
    at_rest,
    begin,
    call,
    card,
    put_agent,
    put_slow,
    replies,
    said,
    write,
)
from tests.support.chromium import sign_in

MARKDOWN = """# Plan

Some *emphasis*, **strength**, `code` and a [link](https://example.com/a?b=c).

- first
  - nested
- second

```python
print("hello")
```

| Product | Units |
|---|--:|
| Apron | 247 |

The end."""


def test_a_simple_function_is_called_and_its_table_shown(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Show me top 5 products")
    asked = call(page, "Get top products")
    expect(asked.locator(".call-brief")).to_have_text("limit: 5, sortBy: revenue")
    expect(asked).to_have_attribute("data-status", "done")
    expect(asked.locator("tbody tr")).to_have_count(5)
    said(page, "Top 5 products by revenue")
    at_rest(page)
    expect(page.locator(".threads a[aria-current]")).to_contain_text("Show me top 5 products")
    assert "#/chat/" in page.url
    assert "token" not in page.url


def test_a_function_with_confirmation_waits_for_it_and_goes_on(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Change custom_label_0 to 'Sale' for products 1, 2, 3")
    question = card(page)
    expect(question).to_contain_text("Change custom_label_0 to 'Sale' for 3 products?")
    expect(question.locator("dl")).to_contain_text("1, 2, 3")
    expect(page.locator("#phase")).to_have_text("Waiting for approval")
    expect(page.locator(".threads a[aria-current]")).to_contain_text("Needs approval")
    expect(page).to_have_title("(1) Change custom_label_0 to 'Sale' for products 1, 2, 3 · Parley")
    question.get_by_role("button", name="Confirm", exact=True).click()
    expect(page.locator(".proposal-outcome")).to_contain_text("Confirmed by dev")
    said(page, "Done.")
    at_rest(page)


def test_a_subagent_works_in_a_container_of_its_own_and_asks_there(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Manage products: change label for top 3")
    outer = call(page, "Manage products")
    inner = outer.locator(".subagent")
    expect(inner.locator("> summary")).to_contain_text("Product manager")
    expect(inner.locator(".task")).to_contain_text("User wants to: change label for top 3")
    expect(inner.locator(".call-name")).to_have_text(["Get top products", "Change custom label"])
    expect(inner.locator(".proposal")).to_contain_text("for 3 products?")
    inner.get_by_role("button", name="Confirm", exact=True).click()
    expect(inner.locator(".theirs")).to_contain_text("Changed custom_label_0")
    expect(page.locator(".turn > .theirs")).to_contain_text("Done.")
    at_rest(page)
    inner.locator("> summary").click()
    expect(inner.locator(".task")).to_be_hidden()


def test_a_predefined_message_begins_a_conversation(page: Page, server: Server) -> None:
    begin(page, server)
    page.get_by_role("button", name="Best sellers").click()
    expect(page.locator("#log .mine")).to_have_count(1)
    expect(call(page, "Get top products")).to_have_attribute("data-status", "done")
    expect(page.locator("#log .mine")).not_to_have_text("Best sellers")
    at_rest(page)


def test_suggested_actions_are_buttons_that_write(page: Page, server: Server) -> None:
    actions = '[{"label": "Analyze trends", "message": "Analyze the trends"}]'
    put_agent(
        server,
        "suggesting",
        propose_actions=True,
        settings={"script": [{"text": "Here."}, {"purpose": "suggestions", "text": actions}]},
    )
    begin(page, server, "suggesting")
    write(page, "Hello")
    page.get_by_role("button", name="Analyze trends").click()
    expect(page.locator("#log .mine").last).to_contain_text("Analyze the trends")
    expect(replies(page)).to_have_count(2)


def test_markdown_is_shown_as_what_it_means_and_the_same_after_a_reload(page: Page, server: Server) -> None:
    put_agent(server, "writer", settings={"script": [{"text": MARKDOWN}], "delay": 0.01})
    begin(page, server, "writer")
    write(page, "Write")
    said(page, "The end.")
    reply = replies(page)
    for wanted in ("h1", "em", "strong", "p code", "ul ul li", "figure.code pre code", ".table td"):
        expect(reply.locator(wanted).first).to_be_visible()
    link = reply.get_by_role("link", name="link")
    expect(link).to_have_attribute("href", "https://example.com/a?b=c")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(link).to_have_attribute("target", "_blank")
    streamed = reply.inner_html()
    page.reload()
    said(page, "The end.")
    assert replies(page).inner_html() == streamed


def test_the_page_shows_plain_text_where_the_markdown_library_is_missing(
    context: BrowserContext, server: Server
) -> None:
    context.route("**/vendor/*.js", lambda route: route.abort())
    text = f"<b>Raw</b>\n\n{MARKDOWN}"
    put_agent(server, "writer", settings={"script": [{"text": text}], "delay": 0.01})
    page = sign_in(context, server.link)
    begin(page, server, "writer")
    write(page, "Write")
    said(page, "The end.")
    assert replies(page).inner_text().strip() == text


def test_messages_written_during_a_turn_wait_in_line_and_are_answered_in_order(
    page: Page, server: Server
) -> None:
    # A question that waits holds the turn for as long as it takes here.
    asked = {"name": "issueRefund", "arguments": {"order_id": "A-1001"}}
    function = {"name": "issueRefund", "implementation": {"kind": "class", "class_name": "issueRefund"}}
    put_agent(
        server,
        "asking",
        functions=[function],
        on_message_while_pending="queue",
        settings={"script": [{"tool_calls": [asked], "when": "first"}]},
    )
    begin(page, server, "asking")
    write(page, "first")
    expect(card(page)).to_be_visible()
    write(page, "second")
    write(page, "third")
    # What waits is there for a tab that did not write it, too.
    other = page.context.new_page()
    other.goto(page.url)
    for tab in (page, other):
        expect(tab.locator(".mine.waiting .mine-text")).to_have_text(["second", "third"])
        expect(tab.locator(".mine.waiting .mine-state")).to_have_text("2 messages wait for their turn")
    card(page).get_by_role("button", name="Cancel", exact=True).click()
    for tab in (page, other):
        said(tab, 'You said: "third"')
        expect(tab.locator("#log .mine .mine-text")).to_have_text(["first", "second", "third"])
        expect(replies(tab)).to_have_count(3)
        at_rest(tab)


def test_a_turn_is_stopped_and_says_so(page: Page, server: Server) -> None:
    put_slow(server, 0.6)
    begin(page, server, "slow")
    write(page, SLOW_WORDS)
    expect(page.locator(".theirs.writing")).to_contain_text("one two")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".note")).to_have_text("Stopped")
    at_rest(page)
    expect(page.locator("#log")).not_to_contain_text(SLOW_REPLY)
    put_slow(server, 0)
    write(page, "again")
    said(page, 'You said: "again"')
    page.get_by_role("link", name="Inspect").click()
    for turn, count in ((1, 1), (2, 0)):
        head = page.get_by_role("region", name=f"Turn {turn}").locator(":scope > header")
        expect(head.get_by_text("stopped by a person")).to_have_count(count)


def test_a_failed_turn_says_why_and_can_be_tried_again(page: Page, server: Server) -> None:
    failing = {
        "error": {"type": "ProviderRejectedRequest", "message": "The model is on holiday.", "times": 1}
    }
    put_agent(server, "failing", settings={"script": [{"when": "hello", **failing, "text": "Back again."}]})
    begin(page, server, "failing")
    write(page, "hello")
    failure = page.locator(".failure")
    expect(failure).to_contain_text("The model is on holiday.")
    at_rest(page)
    failure.get_by_role("button", name="Try again").click()
    expect(page.locator("#log .mine")).to_have_count(2)
    expect(replies(page).or_(page.locator(".failure")).nth(1)).to_be_visible()
    at_rest(page)


def test_a_conversation_that_was_ended_takes_no_more_messages(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Hello")
    said(page, "Hello")
    write(page, "/end")
    expect(page.locator(".note")).to_have_text("The conversation has ended")
    expect(page.get_by_role("textbox", name="Message")).to_be_disabled()
    expect(page.locator("#phase")).to_have_text("Ended")
    page.get_by_role("link", name="New conversation").click()
    expect(page.get_by_role("textbox", name="Message")).to_be_enabled()


def test_a_project_without_agents_shows_the_first_step(page: Page, server: Server) -> None:
    with server.client() as client:
        project = client.post("/api/projects", json={"name": "Empty"}).json()["project_id"]
    # The same address with another fragment alone would not load the page anew.
    page.goto("about:blank")
    page.goto(f"{server.url}/#token={server.token}&project={project}")
    expect(page.get_by_role("heading", name="This project has no agents yet")).to_be_visible()
    expect(page.locator("#log")).to_contain_text("PUT /api/projects/{project}/agents/{agent}")


def test_a_provider_that_is_not_configured_is_told_before_a_message_is_lost_on_it(
    page: Page, server: Server
) -> None:
    put_agent(server, "far", provider="anthropic", model="claude")
    page.reload()
    begin(page, server, "far")
    expect(page.locator(".composer .engine")).to_have_text("anthropic · claude · not configured")


def test_a_phone_shows_everything_within_its_width(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    begin(page, server)
    write(page, "x" * 300 + " refund order A-1004 😀")
    card(page).get_by_role("button", name="Cancel", exact=True).click()
    said(page, "You declined it")
    write(page, "Top 20 products")
    expect(call(page, "Get top products").locator("tbody tr")).to_have_count(20)
    at_rest(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator("#send").bounding_box()
    assert box
    assert box["y"] + box["height"] <= 640
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="New conversation").click()
    expect(page.get_by_role("heading", name="What can I do for you?")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Best sellers")).to_be_in_viewport()
    expect(page.get_by_role("link", name="New conversation")).to_be_hidden()
