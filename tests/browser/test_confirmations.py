"""Proposed actions on the page: decided by a click, edited, declined, late, by somebody else, in another tab."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Server
from tests.browser.pages import at_rest, begin, call, card, put_agent, said, write
from tests.support.chromium import browsing, sign_in

REFUND = {"name": "issueRefund", "implementation": {"kind": "class", "class_name": "issueRefund"}}
HIDDEN = "Sale\u202e\u200bgnihton\u2066 \u0007\U000e0041"


def asks(server: Server, arguments: dict[str, Any] | None = None, **fields: Any) -> None:
    """The agent ``asking``, which proposes a refund."""
    step = {"tool_calls": [{"name": "issueRefund", "arguments": arguments or {"order_id": "A-1001"}}]}
    script = {"script": [{**step, "when": "refund"}]}
    put_agent(server, "asking", functions=[REFUND], settings=script, **fields)


def test_arguments_are_edited_in_a_form_and_checked_by_the_server(page: Page, server: Server) -> None:
    asks(server, {"order_id": "A-1003", "amount": "5.00"})
    begin(page, server, "asking")
    write(page, "refund")
    question = card(page)
    expect(question).to_contain_text("5.00")
    other = page.context.new_page()
    other.goto(page.url)
    expect(card(other)).to_be_visible()
    question.get_by_role("button", name="Edit the arguments").click()
    expect(question.get_by_role("textbox", name="Order id")).to_be_focused()
    amount = question.get_by_role("textbox", name="Amount")
    amount.fill("a lot")
    question.get_by_role("button", name="Confirm with these").click()
    expect(question.get_by_role("alert")).to_contain_text("amount must be a number")
    expect(amount).to_have_attribute("aria-invalid", "true")
    amount.fill("1.50")
    question.get_by_role("button", name="Confirm with these").click()
    said(page, "Done. Refunded 1.50")
    record = "Confirmed by dev, with other argumentsamount: 1.50 (proposed 5.00)"
    for again in (False, True):
        for tab in (page, other):
            if again:
                tab.reload()
            expect(tab.locator(".proposal-outcome")).to_have_text(record)
            expect(call(tab, "Issue refund").locator(".call-brief")).to_have_text(
                "order_id: A-1003, amount: 1.50"
            )
    asked = call(page, "Issue refund")
    asked.locator("summary").click()
    expect(asked.locator(".call-inside")).to_contain_text(
        re.compile("as confirmed.*1.50.*Proposed.*Refund 5.00.*5.00")
    )
    page.get_by_role("link", name="Inspect").click()
    page.locator(".row-head", has_text="RunTool").click()
    expect(page.locator(".row-body:visible")).to_contain_text(
        "With other arguments: amount: 1.50 (proposed 5.00)"
    )


def test_a_decline_tells_the_agent_its_reason(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Please refund order A-1003")
    card(page).get_by_role("button", name="Decline with a reason").click()
    page.keyboard.type("Wrong order")
    card(page).get_by_role("button", name="Decline", exact=True).click()
    expect(page.locator(".proposal-outcome")).to_contain_text("Declined")
    expect(page.locator(".proposal-outcome q")).to_have_text("Wrong order")
    asked = call(page, "Issue refund")
    expect(asked).to_have_attribute("data-status", "declined")
    asked.locator("summary").click()
    expect(asked.locator(".result-text")).to_contain_text("Wrong order")
    at_rest(page)


def test_a_decision_in_one_tab_is_seen_in_the_other(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Please refund order A-1003")
    expect(card(page)).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)
    list_of_all = page.context.new_page()
    list_of_all.goto(f"{server.url}/#/approvals")
    for tab in (other, list_of_all):
        expect(card(tab)).to_contain_text("Refund the whole amount for order A-1003?")
    card(other).get_by_role("button", name="Confirm", exact=True).click()
    for tab in (page, other):
        expect(tab.locator(".proposal-outcome")).to_contain_text("Confirmed by dev")
        said(tab, "Done. Refunded")
        at_rest(tab)
    expect(list_of_all.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    expect(list_of_all.locator(".count")).to_be_hidden()


def test_what_waits_is_there_after_a_reload_with_its_time(page: Page, server: Server) -> None:
    asks(server, confirmation_seconds=120)
    begin(page, server, "asking")
    write(page, "refund")
    expect(card(page).locator(".proposal-left")).to_contain_text("left")
    page.reload()
    expect(card(page)).to_contain_text("Refund the whole amount for order A-1001?")
    expect(card(page).locator(".proposal-left")).to_have_text(re.compile(r"^(2 min|1 min \d+ s) left$"))
    card(page).get_by_role("button", name="Cancel", exact=True).click()
    said(page, "You declined it")


def test_nobody_who_decides_in_time_is_told_as_such(page: Page, server: Server) -> None:
    asks(server, confirmation_seconds=2)
    begin(page, server, "asking")
    write(page, "refund")
    expect(page.locator(".proposal-outcome")).to_contain_text("nobody decided in time")
    expect(page.get_by_role("button", name="Confirm", exact=True)).to_have_count(0)
    at_rest(page)


@contextmanager
def approver(browser: Browser, server: Server) -> Iterator[Page]:
    """The page of `pat`, an approver of the project, with the list of what waits."""
    with server.client() as client:
        client.put("/api/projects/demo/members/pat", json={"role": "approver"}).raise_for_status()
    with browsing(browser) as context:
        page = sign_in(context, f"{server.url}/#token={server.token_of('pat')}")
        page.get_by_role("link", name="Waiting for approval").click()
        yield page


def test_who_asks_and_who_approves_can_be_two_people(browser: Browser, page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Please refund order A-1003")
    expect(card(page)).to_be_visible()
    with approver(browser, server) as theirs:
        expect(card(theirs)).to_contain_text("dev asked General assistant")
        expect(card(theirs)).to_contain_text("Refund the whole amount for order A-1003?")
        expect(card(theirs).get_by_role("link")).to_have_count(0)
        card(theirs).get_by_role("button", name="Confirm", exact=True).click()
        expect(theirs.locator(".proposal-outcome")).to_contain_text("Confirmed by pat")
        expect(theirs.locator(".count")).to_be_hidden()
    expect(page.locator(".proposal-outcome")).to_contain_text("Confirmed by pat")
    said(page, "Done. Refunded")


@pytest.mark.parametrize(
    ("policy", "hint"),
    [
        ("supersede", "If you write something else instead, this counts as declined"),
        ("queue", "What you write meanwhile waits until this is decided"),
        ("reject", "Until this is decided, no other message is accepted"),
    ],
)
def test_the_question_says_what_happens_to_a_message_instead_and_so_it_happens(
    page: Page, server: Server, policy: str, hint: str
) -> None:
    asks(server, on_message_while_pending=policy)
    page.reload()
    begin(page, server, "asking")
    write(page, "refund")
    expect(card(page)).to_contain_text(hint)
    write(page, "Never mind")
    if policy == "supersede":
        expect(page.locator(".proposal-outcome")).to_contain_text("a newer message took its place")
        said(page, "Never mind")
        return
    if policy == "queue":
        expect(page.locator(".mine.waiting .mine-state")).to_have_text("Waits for its turn")
    else:
        expect(page.locator(".mine.failed .mine-state")).to_contain_text("Not sent.")
    card(page).get_by_role("button", name="Cancel", exact=True).click()
    if policy == "reject":
        expect(page.locator(".proposal.settled")).to_be_visible()
        at_rest(page)
        page.get_by_role("button", name="Send again").click()
    said(page, 'You said: "Never mind"')
    at_rest(page)


def test_two_calls_of_one_reply_are_decided_one_by_one(page: Page, server: Server) -> None:
    asked = [{"name": "issueRefund", "arguments": {"order_id": order}} for order in ("A-1001", "A-1002")]
    script = {"script": [{"tool_calls": asked, "when": "both"}]}
    put_agent(server, "asking", functions=[REFUND], settings=script)
    begin(page, server, "asking")
    write(page, "both")
    expect(card(page)).to_have_count(2)
    expect(page.locator(".pending-bar")).to_contain_text("2 actions need your approval")
    card(page).first.get_by_role("button", name="Confirm", exact=True).click()
    expect(card(page)).to_have_count(1)
    # The keyboard goes on to what waits next.
    expect(card(page)).to_be_focused()
    card(page).get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator(".proposal-outcome")).to_have_count(2)
    expect(page.locator(".proposal-outcome").first).to_contain_text("Confirmed")
    expect(page.locator(".proposal-outcome").last).to_contain_text("Declined")
    at_rest(page)


def test_a_decision_that_comes_too_late_says_what_stands(
    browser: Browser, page: Page, server: Server
) -> None:
    begin(page, server)
    write(page, "Please refund order A-1003")
    expect(card(page)).to_be_visible()
    with approver(browser, server) as theirs:
        confirm = card(theirs).get_by_role("button", name="Confirm", exact=True)
        expect(confirm).to_be_visible()
        card(page).get_by_role("button", name="Cancel", exact=True).click()
        expect(page.locator(".proposal-outcome")).to_contain_text("Declined")
        confirm.click()
        expect(theirs.locator(".proposal-outcome")).to_have_text("Somebody else decided before: declined.")
    expect(page.locator(".proposal-outcome")).to_contain_text("Declined")


def test_characters_that_hide_something_are_shown_to_who_approves(page: Page, server: Server) -> None:
    asks(server, {"order_id": "A-1001", "reason": HIDDEN})
    begin(page, server, "asking")
    write(page, "refund")
    reason = card(page).locator("dd").last
    expect(reason).to_have_text("Sale⟦U+202E⟧⟦U+200B⟧gnihton⟦U+2066⟧ ⟦U+0007⟧⟦U+E0041⟧")
