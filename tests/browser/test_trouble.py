"""A tab that is loaded again, a model call that is tried again, too much text, the wrong address or token."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Server
from tests.browser.pages import (
    SLOW_WORDS,
    at_rest,
    begin,
    call,
    put_agent,
    put_slow,
    replies,
    said,
    shows_the_slow_reply_once,
    write,
)


def test_a_page_that_is_loaded_again_in_mid_answer_and_a_second_tab_go_on_with_it(
    page: Page, server: Server
) -> None:
    put_slow(server)
    begin(page, server, "slow")
    write(page, SLOW_WORDS)
    expect(page.locator(".theirs.writing")).to_contain_text("one two")
    other = page.context.new_page()
    other.goto(page.url)
    page.reload()
    expect(page.locator("#title")).to_have_text(SLOW_WORDS)
    for tab in (page, other):
        shows_the_slow_reply_once(tab)


def test_a_retried_model_call_shows_no_word_of_the_broken_try(page: Page, server: Server) -> None:
    broken = {"type": "StreamCut", "after": 3, "times": 1}
    text = "alpha beta gamma delta epsilon"
    put_agent(server, "broken", settings={"script": [{"text": text, "error": broken}], "delay": 0.3})
    begin(page, server, "broken")
    write(page, "go")
    expect(page.locator(".theirs.writing")).to_contain_text("alpha beta")
    said(page, text)
    expect(replies(page)).to_have_text([text])
    page.reload()
    said(page, text)
    expect(replies(page)).to_have_text([text])


def test_a_retried_model_call_shows_a_call_of_the_broken_try_once(page: Page, server: Server) -> None:
    asked = [{"name": "getTopProducts", "arguments": {"limit": 2, "sortBy": "revenue"}}]
    broken = {"type": "StreamCut", "after": 2, "times": 1}
    script = [{"tool_calls": asked, "error": broken}, {"text": "There."}]
    function = {
        "name": "getTopProducts",
        "implementation": {"kind": "class", "class_name": "getTopProducts"},
    }
    put_agent(server, "broken", settings={"script": script}, functions=[function])
    begin(page, server, "broken")
    write(page, "go")
    said(page, "There.")
    expect(page.locator(".call-item")).to_have_count(1)
    expect(call(page, "Get top products")).to_have_attribute("data-status", "done")


def test_a_large_message_comes_whole(page: Page, server: Server) -> None:
    begin(page, server)
    text = "word " * 6399 + "last."
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("textbox", name="Message").press("Enter")
    expect(page.locator("#log .turn .mine-text")).to_have_text(text.strip())
    said(page, "You said:")
    at_rest(page)


def test_a_message_that_is_too_long_is_not_sent_and_says_why(page: Page, server: Server) -> None:
    begin(page, server)
    page.get_by_role("textbox", name="Message").fill("x" * 32001)
    expect(page.locator(".composer-foot .error")).to_have_text("32,001 of 32,000 characters")
    page.get_by_role("textbox", name="Message").press("Enter")
    expect(page.locator("#log .mine")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Message")).to_have_value("x" * 32001)


def test_internal_messages_and_other_threads_never_appear(page: Page, server: Server) -> None:
    put_slow(server)
    begin(page, server, "slow")
    write(page, SLOW_WORDS)
    expect(page.locator(".theirs.writing")).to_contain_text("one two")
    with server.client() as client:
        path = "/api/projects/demo/agents/general-assistant/chat"
        client.post(path, json={"message": "something else"}).raise_for_status()
    expect(page.locator(".threads li")).to_have_count(2)
    shows_the_slow_reply_once(page)
    expect(page.locator("#log")).not_to_contain_text("something else")


def test_a_draft_is_there_again_after_a_reload_and_each_thread_has_its_own(
    page: Page, server: Server
) -> None:
    begin(page, server)
    write(page, "Hello")
    said(page, "Hello")
    page.get_by_role("textbox", name="Message").fill("half a thou")
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("half a thou")
    page.get_by_role("link", name="New conversation").click()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("")


def test_a_conversation_that_is_not_there_says_so(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/#/chat/00000000-0000-4000-8000-000000000000")
    expect(page.get_by_role("heading", name="There is no such conversation")).to_be_visible()
    page.get_by_role("link", name="Start a new one").click()
    expect(page.locator(".welcome")).to_be_visible()


def test_a_token_that_is_not_accepted_is_asked_for_again_in_words(page: Page, server: Server) -> None:
    other = page.context.browser.new_context() if page.context.browser else page.context
    tab = other.new_page()
    tab.goto(f"{server.url}/#token=nonsense")
    expect(tab.get_by_role("alert")).to_contain_text("This token is not accepted")
    expect(tab.locator("#sign-in")).to_contain_text("make token")
    tab.get_by_label("Token").fill(server.token)
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.locator(".welcome")).to_be_visible()
    tab.goto(f"{server.url}/#/chat")
    second = other.new_page()
    second.goto(server.url)
    expect(second.locator(".welcome")).to_be_visible()
    tab.get_by_role("button", name="Sign out").click()
    for each in (tab, second):
        expect(each.get_by_role("heading", name="Sign in")).to_be_visible()
    other.close()


def test_a_project_that_is_not_there_says_so_and_keeps_the_token(page: Page, server: Server) -> None:
    page.goto("about:blank")
    page.goto(f"{server.url}/#token={server.token}&project=nowhere")
    expect(page.get_by_role("alert")).to_contain_text("There is no project “nowhere”")
    page.get_by_label("Project").fill("demo")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".welcome")).to_be_visible()


def test_whose_sign_in_has_ended_goes_on_once_they_sign_in_in_another_tab(page: Page, server: Server) -> None:
    begin(page, server)
    page.route("**/api/**", lambda route: route.fulfill(status=401, json={"message": "Unauthorized"}))
    page.get_by_role("link", name="Waiting for approval").click()
    expect(page.get_by_role("alert")).to_contain_text("Your sign-in has ended")
    page.unroute_all()
    page.context.new_page().goto(server.link)
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()


def test_an_agent_that_cannot_be_read_is_named_with_what_is_wrong(page: Page, server: Server) -> None:
    fault = {"agent_id": "old", "fault": "The agent old cannot be read: history_window: must be at least 1."}

    def with_fault(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "unreadable": [fault]})

    page.route("**/projects/demo/agents", with_fault)
    page.reload()
    expect(page.get_by_role("list", name="Agents that do not work")).to_have_text(fault["fault"])
    expect(page.locator(".agent-card")).not_to_have_count(0)
