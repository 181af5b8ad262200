"""Signing in with an organisation's identity provider: here one that the browser is made to find."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from parley import page as the_page
from tests.browser.conftest import Server

ISSUER = "https://login.example"
SIGN_IN = {"issuer": ISSUER, "client_id": "the-page", "scope": "openid profile"}


class Provider:
    """The provider's three documents; `refusal` is what its sign-in page says in place of a code."""

    def __init__(self, context: BrowserContext, server: Server) -> None:
        self._server = server
        self.refusal: str | None = None
        self.asked: dict[str, str] = {}
        self.exchanges: list[dict[str, str]] = []
        context.route(re.compile(rf"{re.escape(server.url)}/(\?.*)?$"), self._page)
        context.route("**/config.json", lambda route: route.fulfill(json={"sign_in": SIGN_IN}))
        context.route(f"{ISSUER}/**", self._answer)

    def _page(self, route: Route) -> None:
        """The page as a deployed stack sends it: it may call the provider."""
        response = route.fetch()
        policy = the_page.content_security_policy(ISSUER)
        route.fulfill(response=response, headers={**response.headers, "content-security-policy": policy})

    def _answer(self, route: Route) -> None:
        url = urlsplit(route.request.url)
        if url.path.endswith("openid-configuration"):
            endpoints = {"authorization_endpoint": f"{ISSUER}/authorize", "token_endpoint": f"{ISSUER}/token"}
            self._json(route, endpoints)
        elif url.path == "/token":
            given = {name: values[0] for name, values in parse_qs(route.request.post_data or "").items()}
            self.exchanges.append(given)
            self._json(route, {"access_token": self._server.token, "refresh_token": "again"})
        else:
            self.asked = {name: values[0] for name, values in parse_qs(url.query).items()}
            answer = f"error_description={self.refusal}&error=x" if self.refusal else "code=once"
            back = f"{self.asked['redirect_uri']}?{answer}&state={self.asked['state']}"
            html = f"<script>location.replace({json.dumps(back)})</script>"
            route.fulfill(content_type="text/html", body=html)

    def _json(self, route: Route, answer: dict[str, Any]) -> None:
        route.fulfill(json=answer, headers={"access-control-allow-origin": self._server.url})


@pytest.fixture
def provider(context: BrowserContext, server: Server) -> Provider:
    return Provider(context, server)


@pytest.fixture
def arrived(context: BrowserContext, server: Server, provider: Provider) -> Page:
    """The page as somebody sees it who is not signed in."""
    page = context.new_page()
    page.goto(f"{server.url}/#/files")
    return page


def test_a_person_goes_to_the_provider_and_comes_back_to_where_they_wanted(
    arrived: Page, provider: Provider, server: Server
) -> None:
    arrived.get_by_role("button", name="Sign in with your organisation").click()
    expect(arrived.locator("#title")).to_have_text("Files")
    assert arrived.url == f"{server.url}/#/files"
    asked, (exchange,) = provider.asked, provider.exchanges
    assert (asked["client_id"], asked["scope"], asked["response_type"]) == (
        "the-page",
        "openid profile",
        "code",
    )
    assert asked["redirect_uri"] == exchange["redirect_uri"] == f"{server.url}/"
    digest = hashlib.sha256(exchange["code_verifier"].encode()).digest()
    assert asked["code_challenge"] == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert asked["code_challenge_method"] == "S256"
    assert exchange["code"] == "once"


def test_what_the_provider_refuses_is_said_in_its_words(arrived: Page, provider: Provider) -> None:
    provider.refusal = "You+have+no+account+here."
    arrived.get_by_role("button", name="Sign in with your organisation").click()
    expect(arrived.get_by_role("alert")).to_contain_text("You have no account here.")
    assert "error" not in arrived.url
    assert provider.exchanges == []


def test_an_answer_that_nobody_asked_for_signs_nobody_in(
    context: BrowserContext, server: Server, provider: Provider
) -> None:
    page = context.new_page()
    page.goto(f"{server.url}/?code=stolen&state=forged")
    expect(page.get_by_role("alert")).to_contain_text("begun in another tab")
    assert provider.exchanges == []


def test_a_token_that_is_about_to_end_is_renewed_without_a_word(arrived: Page, provider: Provider) -> None:
    arrived.clock.install()
    arrived.get_by_role("button", name="Sign in with your organisation").click()
    expect(arrived.locator("#title")).to_have_text("Files")
    with arrived.expect_request(lambda request: "grant_type=refresh_token" in (request.post_data or "")):
        arrived.clock.fast_forward(12 * 3600 * 1000)
    arrived.reload()
    expect(arrived.locator("#title")).to_have_text("Files")
    assert provider.exchanges[1]["refresh_token"] == "again"


def test_signing_out_forgets_what_could_renew_the_token(arrived: Page, provider: Provider) -> None:
    arrived.get_by_role("button", name="Sign in with your organisation").click()
    arrived.get_by_role("button", name="Sign out").click()
    expect(arrived.get_by_role("button", name="Sign in with your organisation")).to_be_visible()
    assert arrived.evaluate("Object.keys(sessionStorage).filter((key) => /refresh|token/.test(key))") == []
