"""The page as a person uses it, in a real browser against a real server."""

import httpx
import pytest

from tests.support.browser import browsing, program
from tests.support.served import Command

pytestmark = pytest.mark.skipif(program() is None, reason="there is no Chromium here")

SLOW = {
    "agent_id": "slow",
    "name": "Slow",
    "provider": "scripted",
    "model": "demo",
    "settings": {"delay": 0.1},
}
WORDS = "one two three four five six seven eight nine ten eleven twelve"
EMPTY = (
    "document.querySelector('#app').offsetParent && document.querySelector('#log').childElementCount === 0"
)
REPLY = f'You said: "{WORDS}". How can I help?'


@pytest.fixture
def serving(tmp_path):
    with Command("serve", "--port", "0", "--data", str(tmp_path / "data")) as command:
        yield command


@pytest.fixture
def page(tmp_path):
    with browsing(tmp_path / "profile") as tab:
        yield tab
        assert tab.errors == []


def signed_in(page, serving):
    """Open the link that the server printed; gives it."""
    url, token = serving.greeting()
    answer = httpx.put(
        f"{url}/api/projects/demo/agents/slow", json=SLOW, headers={"authorization": f"Bearer {token}"}
    )
    answer.raise_for_status()
    link = f"{url}/#token={token}"
    page.goto(link)
    page.until_it_shows("live")
    return link


def choose(page, agent):
    page.evaluate(
        f"(field => (field.value = '{agent}', field.dispatchEvent(new Event('change'))))"
        "(document.querySelector('#agent'))"
    )


def test_a_refund_is_asked_for_approved_and_reported(page, serving):
    signed_in(page, serving)
    assert "token" not in page.evaluate("location.href")
    page.write("Please refund order A-1003")
    page.until_it_shows("Refund the whole amount for order A-1003?")
    page.press("Confirm")
    page.until_it_shows("Done. Refunded 14.00 for order A-1003.")
    assert "Confirmed by dev" in page.text()


def test_a_page_that_is_loaded_again_in_mid_answer_shows_the_same_conversation(page, serving):
    signed_in(page, serving)
    choose(page, "slow")
    page.write(WORDS)
    page.until_it_shows('You said: "one two')
    assert REPLY not in page.text()
    page.reload()
    page.until_it_shows(REPLY)
    assert page.evaluate("document.querySelectorAll('.message').length") == 2
    assert page.evaluate("document.querySelector('#title').innerText") == WORDS
    page.press("New conversation")
    page.reload()
    page.until(EMPTY)


def test_a_server_that_dies_in_mid_answer_and_comes_back_finishes_it_on_the_page(page, serving, tmp_path):
    url = signed_in(page, serving).partition("/#")[0]
    choose(page, "slow")
    page.write(WORDS)
    page.until_it_shows('You said: "one two')
    serving.process.kill()
    serving.wait()
    page.until_it_shows("not connected")
    arguments = ["--port", url.rpartition(":")[2], "--data", str(tmp_path / "data")]
    with Command("serve", *arguments) as again:
        again.greeting()
        page.until_it_shows(REPLY)
        assert page.text().count("You said:") == 1


def test_a_phone_shows_everything_within_its_width(page, serving):
    page.size(360, 640)
    signed_in(page, serving)
    page.write("x" * 300 + " refund order A-1004 😀")
    page.until_it_shows("Refund the whole amount")
    assert page.evaluate("document.querySelector('#message').offsetHeight") < 60
    page.press("Cancel")
    page.until_it_shows("You declined it")
    page.write("Top 20 products")
    page.until("document.querySelector('table')")
    page.until("document.querySelectorAll('.message.theirs').length === 2")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("document.querySelector('#send').getBoundingClientRect().bottom") <= 640
    page.press("Threads")
    page.press("New conversation")
    page.until(EMPTY)


def test_a_token_that_is_not_accepted_is_asked_for_again(page, serving):
    url, _ = serving.greeting()
    page.goto(f"{url}/#token=nonsense")
    page.until_it_shows("This token is not accepted")
    assert page.evaluate("document.querySelector('#token').offsetParent !== null")
