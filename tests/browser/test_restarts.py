"""A server that dies and comes back, as the page sees it: here `parley serve` is a process that can be killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server
from tests.browser.pages import SLOW_REPLY, SLOW_WORDS, at_rest, begin, put_slow, replies, said, write
from tests.support.served import Command


@pytest.fixture
def command(data: Path) -> Iterator[Command]:
    with Command("serve", "--port", "0", "--data", str(data)) as started:
        yield started


@pytest.fixture
def server(command: Command, data: Path) -> Server:
    url, _ = command.greeting()
    return Server(url, data)


def test_a_server_that_dies_in_mid_answer_and_comes_back_finishes_it_and_takes_what_was_written_meanwhile(
    page: Page, server: Server, command: Command
) -> None:
    put_slow(server)
    begin(page, server, "slow")
    write(page, SLOW_WORDS)
    expect(page.locator(".theirs.writing")).to_contain_text("one two")
    command.process.kill()
    command.wait()
    expect(page.locator("#connection")).to_contain_text("Reconnecting")
    write(page, "Are you there?")
    expect(page.locator(".mine.waiting .mine-state")).to_contain_text("Sending")
    with Command("serve", "--port", server.url.rpartition(":")[2], "--data", str(server.data)) as again:
        again.greeting()
        said(page, "Are you there?")
        expect(replies(page)).to_have_text([SLOW_REPLY, 'You said: "Are you there?". How can I help?'])
        expect(page.locator("#log .mine .mine-text")).to_have_text([SLOW_WORDS, "Are you there?"])
        expect(page.locator("#connection")).to_be_hidden()
        at_rest(page)
