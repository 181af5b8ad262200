"""Whatever happens to the connection, the server or the tab: no sentence twice, none lost, no spinner for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect

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

Frames = Callable[[WebSocketRoute, str], None]


def shows_the_slow_reply_once(page: Page) -> None:
    said(page, SLOW_REPLY)
    expect(replies(page)).to_have_text([SLOW_REPLY])
    expect(page.locator("#log .mine")).to_have_count(1)
    at_rest(page)


def through(page: Page, change: Frames) -> None:
    """Let `change` have every frame that the server sends, from the next load of the page on."""

    def connect(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda text: change(socket, str(text)))

    page.route_web_socket("**/ws?*", connect)
    page.reload()


def test_a_page_that_is_loaded_again_in_mid_answer_goes_on_with_it(page: Page, server: Server) -> None:
    put_slow(server)
    begin(page, server, "slow")
    write(page, SLOW_WORDS)
    expect(page.locator(".theirs.writing")).to_contain_text("one two")
    page.reload()
    expect(page.locator("#title")).to_have_text(SLOW_WORDS)
    shows_the_slow_reply_once(page)


def test_a_second_tab_shows_the_same_stream(page: Page, server: Server) -> None:
    put_slow(server)
    begin(page, server, "slow")
    write(page, SLOW_WORDS)
    expect(page.locator(".theirs.writing")).to_contain_text("one two")
    other = page.context.new_page()
    other.goto(page.url)
    for tab in (other, page):
        shows_the_slow_reply_once(tab)


def test_an_answer_that_is_lost_makes_no_second_message(page: Page, server: Server) -> None:
    lost: list[str] = []

    def lose(route: Route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().text())
        route.abort("connectionreset")

    begin(page, server)
    page.route("**/agents/*/chat", lose)
    write(page, "Hello")
    said(page, "Hello")
    assert len(lost) == 1
    assert json.loads(lost[0])["thread_id"] in page.url
    expect(page.locator("#log .mine")).to_have_count(1)
    expect(page.locator(".threads li")).to_have_count(1)


def test_a_first_message_that_was_on_its_way_at_a_reload_is_not_lost_nor_doubled(
    page: Page, server: Server
) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        # The first never gets an answer; it ends with the page that sent it.
        if held:
            route.continue_()
        held.append(route)

    begin(page, server)
    page.route("**/agents/*/chat", hold)
    write(page, "Hello")
    expect(page.locator(".mine.waiting")).to_have_count(1)
    page.reload()
    said(page, "Hello")
    expect(page.locator("#log .mine")).to_have_count(1)
    expect(page.locator(".threads li")).to_have_count(1)
    assert "#/chat/" in page.url


def doubled(socket: WebSocketRoute, text: str) -> None:
    socket.send(text)
    socket.send(text)


class Shuffled:
    """Frames in pairs, the second first."""

    def __init__(self) -> None:
        self.kept: str | None = None

    def __call__(self, socket: WebSocketRoute, text: str) -> None:
        if "seq" not in json.loads(text):
            socket.send(text)
        elif self.kept is None:
            self.kept = text
        else:
            socket.send(text)
            socket.send(self.kept)
            self.kept = None


class Dropped:
    """Every third frame gets lost, the end of the turn among them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, socket: WebSocketRoute, text: str) -> None:
        self.count += 1
        last = json.loads(text)["event"] == "ThreadEnd"
        if not last and self.count % 3:
            socket.send(text)


class Cut:
    """The connection breaks behind a few frames of each stream."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, socket: WebSocketRoute, text: str) -> None:
        self.count += 1
        if self.count % 6 == 0:
            socket.close(code=1011)
        else:
            socket.send(text)


def referred(socket: WebSocketRoute, text: str) -> None:
    frame: dict[str, Any] = json.loads(text)
    if frame["event"] in {"MessageEnd", "UserMessage", "StreamMessageChunk"}:
        frame["data"] = {"$ref": frame["seq"]}
    socket.send(json.dumps(frame))


@pytest.mark.parametrize(
    "change",
    [doubled, Shuffled(), Dropped(), Cut(), referred],
    ids=["doubled", "shuffled", "dropped", "cut", "referred"],
)
def test_frames_that_are_doubled_shuffled_dropped_cut_or_too_large_show_the_same(
    page: Page, server: Server, change: Frames
) -> None:
    put_slow(server, 0.05)
    through(page, change)
    begin(page, server, "slow")
    write(page, SLOW_WORDS)
    shows_the_slow_reply_once(page)


def test_where_sockets_are_not_let_through_the_log_is_asked_instead(page: Page, server: Server) -> None:
    page.route_web_socket("**/ws?*", lambda socket: socket.close(code=1011))
    page.reload()
    put_slow(server)
    begin(page, server, "slow")
    write(page, SLOW_WORDS)
    expect(page.locator(".theirs.writing")).to_contain_text("one two")
    shows_the_slow_reply_once(page)
    expect(page.locator("#connection")).to_contain_text("Live updates are blocked")


def test_a_laptop_that_was_offline_catches_up_at_once(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Please refund order A-1003")
    expect(card(page)).to_be_visible()
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_contain_text("No connection")
    with server.client() as client:
        proposal = client.get("/api/projects/demo/confirmations").json()["confirmations"][0]["proposal_id"]
        client.post(f"/confirmations/{proposal}", json={"approved": True}).raise_for_status()
    page.context.set_offline(False)
    said(page, "Done. Refunded")
    expect(page.locator(".proposal-outcome")).to_contain_text("Confirmed by dev")
    at_rest(page)


def test_a_retried_model_call_shows_no_word_of_the_broken_try(page: Page, server: Server) -> None:
    broken = {"type": "StreamCut", "after": 3, "times": 1}
    text = "alpha beta gamma delta epsilon"
    put_agent(server, "broken", settings={"script": [{"text": text, "error": broken}], "delay": 0.05})
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


def test_a_message_that_could_not_be_sent_for_long_goes_out_when_the_connection_is_back(
    page: Page, server: Server
) -> None:
    begin(page, server)
    page.context.set_offline(True)
    write(page, "Hello")
    expect(page.locator(".mine.failed .mine-state")).to_contain_text("cannot be reached", timeout=30000)
    page.context.set_offline(False)
    said(page, "Hello")
    expect(page.locator("#log .mine")).to_have_count(1)
    assert "#/chat/" in page.url
    at_rest(page)
