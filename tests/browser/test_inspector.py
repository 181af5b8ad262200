"""The inspector: a conversation's runs from the inside, live."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Server
from tests.browser.conversation import Conversation
from tests.browser.pages import put_agent


@pytest.fixture
def client(server: Server):
    with server.client() as made:
        yield made


def inspect(page: Page, server: Server, conversation: Conversation, generation: int | None = None) -> None:
    run = "" if generation is None else f"/{generation}"
    page.goto(f"{server.url}/#/runs/{conversation.id}{run}")
    expect(page.locator(".run-line")).to_be_visible()


def state(page: Page, name: str, place: int = 0) -> Locator:
    """The row of a visited state."""
    return (
        page.locator(".row")
        .filter(has=page.locator(f":scope > .row-head .name:text-matches('^{name}')"))
        .nth(place)
    )


def opened(page: Page, name: str, place: int = 0) -> Locator:
    """What a state's row tells when it is opened."""
    row = state(page, name, place)
    row.locator(":scope > .row-head").click()
    return row.locator(":scope > .row-body")


def node(page: Page, name: str) -> Locator:
    """A state of the drawn machine."""
    return page.locator(".machine .node").filter(has=page.locator(f":scope > text:text-is('{name}')"))


def test_a_run_tells_what_went_in_and_came_out_of_each_state(page: Page, server: Server, client) -> None:
    conversation = Conversation(client, "Show me the top 2 products")
    conversation.finish(1)
    inspect(page, server, conversation)
    expect(page.locator("#title")).to_have_text("Runs of “Show me the top 2 products”")
    expect(page.get_by_role("region", name="Turn 1")).to_contain_text("Show me the top 2 products")
    called = opened(page, "RunTool")
    expect(called).to_contain_text('"limit": 2')
    expect(called).to_contain_text("Top 2 products by revenue")
    model = opened(page, "InvokeModel", 1)
    expect(model).to_contain_text(re.compile(r"scripted · demo · \d+ tokens in, \d+ out"))
    model.get_by_text("The prompt that was sent").click()
    expect(model).to_contain_text("System prompt")
    expect(model).to_contain_text("Result of getTopProducts")
    expect(model).to_contain_text("issueRefund")
    expect(opened(page, "BuildPrompt")).to_contain_text("What was asked")


def test_the_chain_shows_each_run_and_leads_to_it(page: Page, server: Server, client) -> None:
    conversation = Conversation(client, "one", turns_per_run=1)
    conversation.finish(1)
    conversation.say("two")
    conversation.finish(2)
    inspect(page, server, conversation)
    chain = page.get_by_label("Runs", exact=True).get_by_role("link")
    expect(chain).to_have_count(3)
    chain.first.click()
    expect(chain.first).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("region", name="Turn 1")).to_contain_text("one")
    expect(page.get_by_role("button", name="Handed over")).to_be_visible()
    expect(node(page, "ContinueAsNew")).to_have_class(re.compile(r"\bentered\b"))
    expect(node(page, "FailTurn")).not_to_have_class(re.compile(r"\bentered\b"))


def test_an_approval_is_seen_waiting_and_then_decided_without_a_reload(
    page: Page, server: Server, client
) -> None:
    conversation = Conversation(client, "Please refund order A-1003")
    conversation.pending()
    inspect(page, server, conversation)
    expect(page.locator(".chain .run")).to_contain_text("waiting for approval")
    expect(state(page, "AwaitConfirmation").locator(":scope > .row-head .state")).to_have_text("waiting")
    expect(node(page, "AwaitConfirmation")).to_have_class(re.compile(r"\bwaiting\b"))
    expect(page.locator(".machine")).to_have_attribute("aria-label", re.compile("AwaitConfirmation"))
    asked = opened(page, "AwaitConfirmation")
    expect(asked).to_contain_text("Not decided yet")
    conversation.decide(approved=True)
    expect(asked).to_contain_text("Approved by dev")
    expect(node(page, "RecordReply")).to_have_class(re.compile(r"\bentered\b"))
    expect(node(page, "ReceiveMessage")).to_have_class(re.compile(r"\bwaiting\b"))
    assert asked.evaluate("body => !body.hidden")


def test_a_subagents_run_is_nested_where_it_was_called(page: Page, server: Server, client) -> None:
    conversation = Conversation(
        client, "Please manage products: set the label of the top 2 products to Summer"
    )
    conversation.pending()
    inspect(page, server, conversation)
    inner = page.get_by_role("region", name="Subagent product-manager")
    expect(inner).to_contain_text("User wants to: set the label")
    expect(inner.locator(".row")).to_have_count(8)
    question = inner.locator(".row").last
    question.locator(":scope > .row-head").click()
    expect(question).to_contain_text("Change custom_label_0 to 'Summer' for 2 products?")
    inner.locator(".row-head", has_text="InvokeModel").last.click()
    inner.get_by_text("The prompt that was sent").last.click()
    expect(inner.locator(".prompt")).to_contain_text(
        "User wants to: set the label of the top 2 products to Summer"
    )


def test_a_failed_turn_shows_its_retries_and_what_the_person_was_told(
    page: Page, server: Server, client
) -> None:
    put_agent(server, "failing", settings={"script": [{"error": "ProviderQuotaExceeded"}]})
    conversation = Conversation(client, "Hello", agent="failing")
    conversation.finish(1)
    inspect(page, server, conversation)
    expect(state(page, "InvokeModel").locator(":scope > .row-head .state")).to_have_text("failed")
    expect(opened(page, "InvokeModel")).to_contain_text("ended with ProviderQuotaExceeded")
    expect(opened(page, "FailTurn")).to_contain_text("What the person was told")
    expect(node(page, "InvokeModel")).to_have_class(re.compile(r"\bfailed\b"))


def test_markup_in_what_a_run_shows_stays_text(page: Page, server: Server, client) -> None:
    evil = '<img src=x onerror="window.owned=1"> top 2 products <script>window.owned=1</script>'
    conversation = Conversation(client, evil)
    conversation.finish(1)
    inspect(page, server, conversation)
    opened(page, "BuildPrompt")
    opened(page, "InvokeModel", 1).get_by_text("The prompt that was sent").click()
    expect(page.locator(".prompt").last).to_contain_text("<script>")
    assert page.locator(".inspector img, .inspector script").count() == 0
    assert page.evaluate("window.owned") is None


def test_no_token_of_a_task_reaches_the_page(page: Page, server: Server, client) -> None:
    conversation = Conversation(client, "Please refund order A-1003")
    conversation.pending()
    run = client.get(f"{conversation.path}/runs/1").text
    inspect(page, server, conversation)
    for name in ("ReceiveMessage", "AwaitConfirmation"):
        page.locator(".row-head", has_text="Waited" if name == "ReceiveMessage" else name).first.click()
    shown = page.locator("body").inner_text()
    assert "token" not in run.replace("input_tokens", "").replace("output_tokens", "").replace(
        "max_tokens", ""
    )
    assert "task_token" not in shown


def test_a_conversation_of_somebody_else_is_not_shown(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/#/runs/00000000-0000-0000-0000-000000000000")
    expect(page.locator("#notices")).to_contain_text("There is no such thread")


def test_the_rows_open_by_keyboard(page: Page, server: Server, client) -> None:
    conversation = Conversation(client, "Hello")
    conversation.finish(1)
    inspect(page, server, conversation)
    head = state(page, "InvokeModel").locator(":scope > .row-head")
    head.focus()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Space")
    expect(head).to_have_attribute("aria-expanded", "false")
