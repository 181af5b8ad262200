"""Addresses, keys, limits: what the one place for HTTP does around a wire."""

import itertools
import json
from collections.abc import Callable

import httpx
import pytest

from parley.domain.errors import (
    ProviderNotConfigured,
    ProviderRejectedRequest,
    ProviderTimeout,
    ProviderUnauthorized,
    ProviderUnavailable,
)
from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.endpoints import endpoints
from parley.providers.http import HttpProvider, TimeLimits, make_client
from parley.providers.registry import ProviderRegistry
from tests.support.replies import collect

DONE = b'data: {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]}\n\n'


class Settings:
    def __init__(self, **values: str) -> None:
        self.values = values

    def get(self, name: str) -> str | None:
        return self.values.get(name)


def prompt(**settings: object) -> Prompt:
    message = PromptMessage(role="user", content="Hi \ud800")
    return Prompt(provider="openai", model="m", messages=(message,), settings=settings)


def registry(handler: Callable[[httpx.Request], httpx.Response], **settings: str) -> ProviderRegistry:
    return ProviderRegistry(Settings(**settings), transport=httpx.MockTransport(handler))


def sent(prompt: Prompt, **settings: str) -> httpx.Request:
    requests: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=DONE)

    collect(registry(handler, **settings).get("openai").stream(prompt))
    return requests[0]


def test_a_key_or_a_base_url_configures_a_provider() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise AssertionError("nothing is sent")

    assert not registry(refuse).get("openai").is_configured()
    assert registry(refuse, OPENAI_API_KEY="k").get("openai").is_configured()
    assert registry(refuse, OPENAI_BASE_URL="http://local").get("openai").is_configured()
    with pytest.raises(ProviderNotConfigured, match="OPENAI_API_KEY"):
        collect(registry(refuse).get("openai").stream(prompt()))


def test_a_provider_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(ProviderNotConfigured, match=r"google, .*openai, .*scripted"):
        registry(lambda request: httpx.Response(200)).get("nope")


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("", "https://api.openai.com/v1/chat/completions"),
        ("http://local:8080", "http://local:8080/v1/chat/completions"),
        ("http://local:8080/", "http://local:8080/v1/chat/completions"),
        ("http://local/openai/", "http://local/openai/chat/completions"),
    ],
)
def test_the_address_is_the_base_url_and_the_wires_path(base: str, url: str) -> None:
    assert str(sent(prompt(), OPENAI_API_KEY="k", OPENAI_BASE_URL=base).url) == url


@pytest.mark.parametrize("base", ["local:8080", "ftp://local/v1", "http://", "http://local:port"])
def test_a_base_url_that_is_none_is_a_setting_at_fault(base: str) -> None:
    with pytest.raises(ProviderNotConfigured, match="OPENAI_BASE_URL"):
        sent(prompt(), OPENAI_BASE_URL=base)


def test_a_keyless_server_gets_no_authorization() -> None:
    assert "authorization" not in sent(prompt(), OPENAI_BASE_URL="http://local").headers
    assert sent(prompt(), OPENAI_API_KEY=" k\n").headers["authorization"] == "Bearer k"


def test_the_token_limit_has_the_name_that_the_server_knows() -> None:
    at_home = json.loads(sent(prompt(max_tokens=5), OPENAI_API_KEY="k").content)
    named = json.loads(sent(prompt(max_tokens=5), OPENAI_BASE_URL="https://api.openai.com/v1").content)
    elsewhere = json.loads(sent(prompt(max_tokens=5), OPENAI_BASE_URL="http://local").content)
    assert at_home["max_completion_tokens"] == 5
    assert "max_tokens" not in at_home
    assert named == at_home
    assert elsewhere["max_tokens"] == 5


TWO = b'data: {"type": "response.completed", "response": {"status": "completed"}}\n\n' + DONE
"""Ends a reply on either of OpenAI's wires."""


@pytest.mark.parametrize(
    ("agent", "installation", "path"),
    [
        ({}, "", "/v1/chat/completions"),
        ({}, "responses", "/v1/responses"),
        ({}, "completions", "/v1/chat/completions"),
        ({"api": "responses"}, "", "/v1/responses"),
        ({"api": "completions"}, "responses", "/v1/chat/completions"),
        ({"api": "responses"}, "completions", "/v1/responses"),
    ],
)
def test_the_agent_and_then_the_installation_choose_openais_api(
    agent: dict[str, str], installation: str, path: str
) -> None:
    requests: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=TWO)

    provider = registry(handler, OPENAI_API_KEY="k", OPENAI_DEFAULT_API=installation).get("openai")
    collect(provider.stream(prompt(**agent)))
    assert requests[0].url.path == path
    sent = json.loads(requests[0].content)
    assert not {"api", "OPENAI_DEFAULT_API", "openai_default_api"} & {*sent}
    assert "openai_default_api" not in str(requests[0].headers).lower()


def test_an_api_that_openai_has_not_is_refused_before_anything_is_sent() -> None:
    for api in ("assistants", ["responses"], ""):
        with pytest.raises(ProviderRejectedRequest, match="completions or responses"):
            sent(prompt(api=api), OPENAI_API_KEY="k")
    with pytest.raises(ProviderNotConfigured, match="OPENAI_DEFAULT_API must be completions or responses"):
        sent(prompt(), OPENAI_API_KEY="k", OPENAI_DEFAULT_API="assistants")


def sent_to_anthropic(**settings: str) -> httpx.Headers:
    requests: list[httpx.Request] = []
    end = b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\n'

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=end)

    asked = prompt().but(provider="anthropic")
    collect(registry(handler, ANTHROPIC_API_KEY="k", **settings).get("anthropic").stream(asked))
    return requests[0].headers


def test_the_key_is_sent_the_way_that_the_setting_says() -> None:
    usual = sent_to_anthropic()
    assert (usual["authorization"], usual.get("x-api-key")) == ("Bearer k", None)
    older = sent_to_anthropic(ANTHROPIC_AUTH="x-api-key")
    assert (older.get("authorization"), older["x-api-key"]) == (None, "k")
    with pytest.raises(ProviderNotConfigured, match="ANTHROPIC_AUTH must be one of"):
        sent_to_anthropic(ANTHROPIC_AUTH="query")


def test_the_version_of_an_api_is_a_setting() -> None:
    assert sent_to_anthropic()["anthropic-version"] == "2026-10-21"
    assert sent_to_anthropic(ANTHROPIC_VERSION="2023-06-01")["anthropic-version"] == "2023-06-01"


def test_half_a_character_does_not_stop_the_request() -> None:
    assert json.loads(sent(prompt(), OPENAI_API_KEY="k").content)["messages"][0]["content"] == "Hi ?"


@pytest.mark.parametrize("echoed", ["secret-key-1", "sk-proj-ab***********cdef", "Bearer abcdef"])
def test_no_key_is_in_the_words_of_an_error(echoed: str) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(401, json={"error": {"message": f"Incorrect API key provided: {echoed}."}})

    with pytest.raises(ProviderUnauthorized) as raised:
        collect(registry(handler, OPENAI_API_KEY="secret-key-1").get("openai").stream(prompt()))
    assert echoed not in str(raised.value)
    assert "Incorrect API key provided" in str(raised.value)


@pytest.mark.parametrize(
    ("failure", "error_class"),
    [
        (httpx.ConnectError("refused"), ProviderUnavailable),
        (httpx.ConnectTimeout("slow"), ProviderTimeout),
        (httpx.ReadTimeout("silent"), ProviderTimeout),
        (httpx.RemoteProtocolError("gone"), ProviderUnavailable),
    ],
)
def test_a_connection_that_fails_is_retryable(failure: Exception, error_class: type[Exception]) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise failure

    with pytest.raises(error_class):
        collect(registry(handler, OPENAI_API_KEY="k").get("openai").stream(prompt()))


def test_redirects_are_not_followed() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        assert request.url.host == "api.openai.com"
        return httpx.Response(302, headers={"location": "https://elsewhere"})

    with pytest.raises(Exception, match="HTTP 302"):
        collect(registry(handler, OPENAI_API_KEY="k").get("openai").stream(prompt()))


def test_a_reply_that_goes_on_for_too_long_is_given_up() -> None:
    seconds = itertools.count(step=60)
    client = make_client(
        httpx.MockTransport(lambda request: httpx.Response(200, content=iter([b": still here\n\n"] * 10)))
    )
    provider = HttpProvider(
        endpoints()[0],
        Settings(OPENAI_API_KEY="k"),
        lambda: client,
        limits=TimeLimits(total=240),
        monotonic=lambda: next(seconds),
    )
    with pytest.raises(ProviderTimeout, match="240"):
        collect(provider.stream(prompt()))
    assert next(seconds) == 60 * 6


def test_a_header_setting_is_sent_if_it_can_be() -> None:
    requests: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=DONE)

    asked = prompt().but(provider="openrouter")
    named = {"OPENROUTER_API_KEY": "k", "OPENROUTER_X_TITLE": " Our App "}
    collect(registry(handler, **named).get("openrouter").stream(asked))
    assert requests[0].headers["x-title"] == "Our App"
    assert "http-referer" not in requests[0].headers
    with pytest.raises(ProviderNotConfigured, match="OPENROUTER_X_TITLE"):
        collect(registry(handler, **(named | {"OPENROUTER_X_TITLE": "Café"})).get("openrouter").stream(asked))
