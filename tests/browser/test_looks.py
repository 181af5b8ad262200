"""What the eye sees at once and no other test does: what is cut off, pulled apart, out of place, or said twice."""

from __future__ import annotations

from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime

from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.conftest import Server
from tests.browser.pages import at_rest, begin, card, put_agent, replies, said, write
from tests.support.chromium import sign_in
from tests.support.waiting import wait_until

WORD = "averylongword" * 12
TASK = {"name": "createTask", "implementation": {"kind": "class", "class_name": "createTask"}}
TABLE = "| Product | A | B | C | D | E | Units |\n|-|-|-|-|-|-|-|\n| Apron | 1 | 2 | 3 | 4 | 5 | 1234.50 |\n"


def propose_two(page: Page, server: Server) -> None:
    """A conversation in which two actions wait."""
    calls = [{"name": "createTask", "arguments": {"title": f"Task {n}", "description": "x"}} for n in (1, 2)]
    put_agent(server, "asking", functions=[TASK], settings={"script": [{"tool_calls": calls}]})
    begin(page, server, "asking")
    write(page, "go")
    expect(card(page)).to_have_count(2)


def test_names_without_spaces_stay_within_their_cards(page: Page, server: Server) -> None:
    put_agent(server, "long", name=WORD, description=WORD)
    page.reload()
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 700})
        begin(page, server, "long")
        expect(page.locator(".agent-card").filter(has_text=WORD)).to_be_visible()
        cut = page.locator("#log").evaluate("log => log.scrollWidth - log.clientWidth")
        assert cut == 0, width


def test_the_words_and_numbers_of_a_table_stay_whole(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    put_agent(server, "tables", settings={"script": [{"text": f"{TABLE}\nThe end."}]})
    begin(page, server, "tables")
    write(page, "go")
    said(page, "The end.")
    for words in ("Product", "1234.50"):
        cell = page.locator(".prose .table :is(th, td)").get_by_text(words, exact=True)
        lines = cell.evaluate(
            "cell => { const r = document.createRange(); r.selectNodeContents(cell); "
            "return new Set([...r.getClientRects()].map((box) => box.top)).size; }"
        )
        assert lines == 1, words
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_hebrew_and_arabic_are_read_from_the_right(page: Page, server: Server) -> None:
    put_agent(server, "rtl", settings={"script": [{"text": "Hello.\n\nשלום, מה שלומך?\n\nThe end."}]})
    begin(page, server, "rtl")
    write(page, "مرحبا, hello?")
    said(page, "The end.")
    column = page.locator("#log .theirs").bounding_box()
    assert column
    rights = (
        replies(page)
        .locator("p")
        .evaluate_all(
            "all => all.map((p) => { const r = document.createRange(); r.selectNodeContents(p); "
            "return Math.round(r.getBoundingClientRect().right); })"
        )
    )
    edge = round(column["x"] + column["width"])
    assert [right == edge for right in rights] == [False, True, False]


def test_the_button_to_the_end_goes_away_where_the_end_is(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 500, "height": 420})
    put_agent(server, "tall", settings={"script": [{"text": "line\n\n" * 40}]})
    begin(page, server, "tall")
    jump = page.get_by_role("button", name="To the end")
    page.locator("#log").hover()
    page.mouse.wheel(0, 150)
    expect(jump).to_be_hidden()
    write(page, "go")
    at_rest(page)
    page.locator("#log").hover()
    page.mouse.wheel(0, -800)
    expect(jump).to_be_visible()
    write(page, "more")
    expect(jump).to_be_hidden()
    at_rest(page)
    page.locator("#log").hover()
    page.mouse.wheel(0, -800)
    expect(jump).to_be_visible()
    begin(page, server, "tall")
    expect(jump).to_be_hidden()


def test_what_nobody_can_decide_any_more_asks_for_no_decision(
    context: BrowserContext, server: Server
) -> None:
    ahead = timedelta()

    def later(route: Route) -> None:
        answer = route.fetch()
        date = parsedate_to_datetime(answer.headers["date"]) + ahead
        route.fulfill(response=answer, headers={**answer.headers, "date": format_datetime(date, usegmt=True)})

    context.clock.install()
    page = sign_in(context, server.link)
    propose_two(page, server)
    bar = page.locator(".pending-bar")
    expect(bar).to_contain_text("2 actions need your approval")
    # It is the server's clock that counts, wherever this machine's goes.
    with page.expect_response("**/events?*"):
        page.clock.fast_forward("48:00:00")
    expect(card(page)).to_have_count(2)
    page.route("**/api/**", later)
    ahead = timedelta(hours=48)
    page.clock.fast_forward("48:00:00")
    expect(card(page)).to_have_count(0)
    expect(bar).to_be_hidden()
    expect(page.locator(".proposal-outcome").first).to_contain_text("nobody decided in time")


def test_the_agent_of_a_conversation_takes_no_more_room_than_its_name(page: Page, server: Server) -> None:
    put_agent(server, "short", name="Ann")
    begin(page, server, "short")
    write(page, "Hello")
    at_rest(page)
    agent = page.locator("#agent")
    wait_until(
        lambda: (box := agent.bounding_box()) and box["width"] < 90, what="the list is as wide as its name"
    )


def test_a_subagents_states_are_as_wide_as_those_around_them(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Please manage products: set the label of the top 3 products to Summer")
    card(page).get_by_role("button", name="Confirm").click()
    at_rest(page)
    page.goto(page.url.replace("#/chat/", "#/runs/"))
    inner, outer = page.locator(".subrun .row-head").first, page.locator(".run-turn .row-head").first
    expect(inner).to_be_visible()
    one, other = inner.bounding_box(), outer.bounding_box()
    assert one
    assert other
    assert one["x"] + one["width"] == other["x"] + other["width"]


def test_nothing_lies_below_the_window(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Hello")
    at_rest(page)
    higher = "document.documentElement.scrollHeight - document.documentElement.clientHeight"
    assert page.evaluate(higher) == 0


def test_a_conversation_of_which_one_action_was_decided_still_needs_approval(
    page: Page, server: Server
) -> None:
    propose_two(page, server)
    state = page.locator(".threads .thread-state").first
    expect(state).to_have_text("Needs approval")
    card(page).first.get_by_role("button", name="Confirm").click()
    expect(card(page)).to_have_count(1)
    expect(page.locator("#log .call-item[data-status=done]")).to_have_count(1)
    expect(state).to_have_text("Needs approval")
    card(page).get_by_role("button", name="Cancel", exact=True).click()
    at_rest(page)
    expect(state).to_have_text("now")


def test_the_numbers_of_a_long_list_are_within_their_turn(page: Page, server: Server) -> None:
    lists = {"9": 0, "95": 10, "2024": 1, "123456789": 1}
    items = ["\n".join(f"{int(start) + n}. item" for n in range(more + 1)) for start, more in lists.items()]
    put_agent(server, "lists", settings={"script": [{"text": "\n\nand\n\n".join(items) + "\n\nThe end."}]})
    begin(page, server, "lists")
    write(page, "go")
    said(page, "The end.")
    # Where the marks begin cannot be asked: how wide their text is, can.
    room = page.locator("#log .prose > ol").evaluate_all(
        """lists => lists.map((list) => {
          const pen = document.createElement("canvas").getContext("2d");
          pen.font = getComputedStyle(list).font;
          const last = `${list.start + list.children.length - 1}. `;
          return parseFloat(getComputedStyle(list).paddingLeft) - pen.measureText(last).width;
        })"""
    )
    assert len(room) == len(lists)
    assert all(left >= 0 for left in room), room


def test_a_question_goes_with_the_view_that_asked_it(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/#/files")
    page.goto(f"{server.url}/#/knowledge")
    page.get_by_role("button", name="Remove returns-policy.md").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.go_back()
    expect(page.locator("#title")).to_have_text("Files")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.go_forward()
    expect(page.get_by_role("button", name="Remove returns-policy.md")).to_be_visible()


def test_an_argument_that_was_refused_has_the_focus_and_a_plain_reason(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Please refund order A-1003")
    card(page).get_by_role("button", name="Edit the arguments").click()
    amount = card(page).get_by_role("textbox", name="Amount")
    amount.fill("a lot")
    amount.press("Enter")
    expect(card(page).get_by_role("alert")).to_have_text("amount must be a number")
    expect(amount).to_be_focused()


def test_code_within_a_list_or_a_quotation_is_code_that_can_be_copied(page: Page, server: Server) -> None:
    text = "1. first\n\n   ```sh\n   ls <b>\n   ```\n2. second\n\n> ```py\n> x = 1\n> ```\n\nThe end."
    put_agent(server, "code", settings={"script": [{"text": text}]})
    begin(page, server, "code")
    write(page, "go")
    said(page, "The end.")
    for within, words in (("li", "ls <b>"), ("blockquote", "x = 1")):
        block = page.locator(f".prose {within} figure.code")
        expect(block.locator("code")).to_have_text(words)
        expect(block.get_by_role("button", name="Copy this code")).to_be_visible()
    expect(page.locator(".prose li figcaption")).to_contain_text("sh")
    # As it is over plain http on another machine than one's own.
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.locator(".prose li").get_by_role("button", name="Copy this code").click()
    expect(page.get_by_role("button", name="Copied")).to_be_focused()
    page.get_by_role("textbox", name="Message").press("Control+v")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("ls <b>")
