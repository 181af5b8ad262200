"""The page without a mouse, and as a screen reader tells it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import Server
from tests.browser.pages import at_rest, begin, card, put_agent, put_slow, said, write

FOCUSED = """() => {
    const one = document.activeElement;
    if (one === document.body) return null;
    const outlined = getComputedStyle(one).outlineStyle !== "none" || one.matches("#message");
    return { outlined, name: (one.getAttribute("aria-label") ?? one.innerText).trim().split("\\n")[0].trim() };
}"""


def press_until_focused(page: Page, key: str, name: str, role: str = "button") -> None:
    """Press a key until an element of that name has the focus."""
    for _ in range(60):
        page.keyboard.press(key)
        focused = page.evaluate(FOCUSED)
        if focused and focused["name"].startswith(name):
            return
    raise AssertionError(f"no {role} {name} comes with {key}")


def test_a_refund_is_asked_for_edited_and_approved_with_the_keyboard_alone(
    page: Page, server: Server
) -> None:
    begin(page, server)
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    page.keyboard.type("Please refund order A-1003")
    page.keyboard.press("Enter")
    expect(card(page)).to_be_visible()
    # What is being typed is not interrupted; the question lies right before it.
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    press_until_focused(page, "Shift+Tab", "Edit")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Order id")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    said(page, "Done. Refunded 2.00")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    at_rest(page)


def test_every_part_is_reached_with_tab_and_its_focus_is_seen(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Top 3 products")
    said(page, "Top 3 products")
    page.locator("body").evaluate("body => document.activeElement.blur()")
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused:
            assert focused["outlined"], focused
            seen.append(focused["name"])
    for part in ("Skip to the content", "New conversation", "Waiting for approval", "Sign out", "Inspect"):
        assert part in seen
    for part in ("Conversation", "Get top products", "Table", "Copy this message", "Message", "Send"):
        assert any(name.startswith(part) for name in seen), (part, seen)


def test_a_suggested_agent_and_the_menu_of_a_phone_work_with_keys(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 380, "height": 700})
    begin(page, server)
    press_until_focused(page, "Shift+Tab", "Best sellers")
    page.keyboard.press("Space")
    said(page, "Top 5 products")
    page.get_by_role("button", name="Menu").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="New conversation")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Menu")).to_be_focused()
    expect(page.get_by_role("link", name="New conversation")).to_be_hidden()


def test_the_stop_button_gives_the_focus_back(page: Page, server: Server) -> None:
    put_slow(server, 0.6)
    begin(page, server, "slow")
    write(page, "one two three four five six seven eight nine ten")
    expect(page.locator(".theirs.writing")).to_contain_text("one two")
    press_until_focused(page, "Tab", "Stop")
    page.keyboard.press("Enter")
    at_rest(page)
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()


def test_a_screen_reader_hears_whole_replies_and_questions_and_no_pieces(page: Page, server: Server) -> None:
    put_slow(server, 0.05)
    begin(page, server, "slow")
    page.evaluate(
        """() => {
            window.heard = [];
            const live = document.getElementById("announcer");
            new MutationObserver(() => window.heard.push(live.textContent)).observe(live, {
                childList: true, characterData: true, subtree: true });
        }"""
    )
    write(page, "one two three four five")
    said(page, "one two three four five")
    expect(page.locator("#announcer")).to_contain_text("How can I help?")
    assert page.evaluate("window.heard.length") == 1
    # What happens at once is said at once, and does not cut off what was said before.
    top = {"name": "getTopProducts", "implementation": {"kind": "class", "class_name": "getTopProducts"}}
    calls = [{"name": "getTopProducts", "arguments": {"limit": limit}} for limit in range(1, 9)]
    put_agent(
        server, "busy", functions=[top], settings={"script": [{"tool_calls": calls}, {"text": "Done."}]}
    )
    begin(page, server, "busy")
    write(page, "go")
    said(page, "Done.")
    expect(page.locator("#announcer")).to_contain_text("busy: Done.")
    heard = page.evaluate("window.heard.slice(1)")
    assert "Calls Get top products, 8 times" in " ".join(heard)
    assert len(heard) <= 3
    # So many results are within the calls' folds.
    expect(page.locator("#log .table:visible")).to_have_count(0)
    page.locator(".call > summary").nth(2).click()
    expect(page.locator("#log .table:visible tbody tr")).to_have_count(3)
    begin(page, server)
    write(page, "Please refund order A-1003")
    expect(page.locator("#announcer")).to_contain_text("Needs your approval: Refund the whole amount")
    expect(page.locator("#log")).to_have_attribute("aria-live", "off")
    expect(page.get_by_role("heading", name="You said")).to_have_count(1)
    expect(page.get_by_role("region", name="Refund the whole amount for order A-1003?")).to_be_visible()
