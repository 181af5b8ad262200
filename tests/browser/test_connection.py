"""Whatever happens to the connection: no sentence twice, none lost, no spinner for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, WebSocketRoute, expect

from tests.browser.conftest import Server
from tests.browser.pages import (
    SLOW_WORDS,
    at_rest,
    begin,
    card,
    put_slow,
    said,
    shows_the_slow_reply_once,
    write,
)
from tests.support.chromium import sign_in
from tests.support.served import until

Frames = Callable[[WebSocketRoute, str], None]


def through(context: BrowserContext, server: Server, change: Frames) -> Page:
    """The page, signed in; `change` has every frame that the server sends it."""

    def connect(socket: WebSocketRoute) -> None:
        upstream = socket.connect_to_server()
        upstream.on_message(lambda text: change(socket, str(text)))

    context.route_web_socket("**/ws?*", connect)
    return sign_in(context, server.link)


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
    context: BrowserContext, server: Server, change: Frames
) -> None:
    put_slow(server, 0.05)
    page = through(context, server, change)
    begin(page, server, "slow")
    write(page, SLOW_WORDS)
    shows_the_slow_reply_once(page)


def test_where_sockets_are_not_let_through_the_log_is_asked_instead(
    context: BrowserContext, server: Server
) -> None:
    context.route_web_socket("**/ws?*", lambda socket: socket.close(code=1011))
    put_slow(server)
    page = sign_in(context, server.link)
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


def test_a_message_that_could_not_be_sent_for_long_goes_out_when_the_connection_is_back(
    context: BrowserContext, server: Server
) -> None:
    context.clock.install()
    page = sign_in(context, server.link)
    begin(page, server)
    context.set_offline(True)
    write(page, "Hello")
    state = page.locator(".mine.failed .mine-state")

    def given_up() -> bool:
        page.clock.fast_forward(10_000)  # longer than the page ever pauses before it tries once more
        return state.count() > 0

    until(given_up)
    expect(state).to_contain_text("cannot be reached")
    context.set_offline(False)
    said(page, "Hello")
    expect(page.locator("#log .mine")).to_have_count(1)
    assert "#/chat/" in page.url
    at_rest(page)


def test_what_could_not_be_read_is_read_once_the_server_answers_again(page: Page, server: Server) -> None:
    begin(page, server)
    write(page, "Hello")
    said(page, "Hello")
    page.get_by_role("link", name="New conversation").click()
    expect(page.locator(".welcome")).to_be_visible()
    page.context.set_offline(True)
    page.locator(".threads a").click()
    expect(page.get_by_role("heading", name="This conversation could not be read")).to_be_visible()
    page.context.set_offline(False)
    said(page, "Hello")
    expect(page.locator("#notices")).to_be_empty()


def test_a_page_that_is_opened_while_the_server_is_away_waits_for_it(page: Page, server: Server) -> None:
    page.route("**/api/**", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("heading", name="No answer")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached")
    page.unroute_all()
    page.get_by_role("button", name="Try again now").click()
    expect(page.locator(".welcome")).to_be_visible()
