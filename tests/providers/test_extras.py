"""Moderation and images over a real connection: requests as recorded, answers, errors, addresses."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.domain.errors import (
    ProviderError,
    ProviderNotConfigured,
    ProviderOverloaded,
    ProviderRateLimited,
    ProviderRejectedRequest,
    ProviderUnauthorized,
    StreamCut,
)
from parley.providers import extras
from parley.providers.registry import ProviderRegistry
from parley.turns.model_ports import Image, ImageOptions
from tests.support.pictures import BASE64, PNG
from tests.support.recorded import expected_request
from tests.support.wire_server import Answer, WireServer

FIXTURES = Path(__file__).parent / "fixtures"
KEY = "sk-test-0123456789"
RED = Image(PNG, "image/png")
PROMPT = "a red cube"

OPENROUTER = {"image_url": {"url": f"data:image/png;base64,{BASE64}"}}
MAKERS: dict[str, tuple[str, ImageOptions, bytes]] = {
    "openai": (
        "OPENAI",
        ImageOptions("gpt-image-1", size="1024x1024", quality="low", settings={"n": 1}),
        json.dumps({"data": [{"b64_json": BASE64}]}).encode(),
    ),
    "google": (
        "GOOGLE",
        ImageOptions("gemini-2.5-flash-image", aspect_ratio="1:1"),
        json.dumps({"candidates": [{"content": {"parts": [{"inlineData": {"data": BASE64}}]}}]}).encode(),
    ),
    "openrouter": (
        "OPENROUTER",
        ImageOptions("google/gemini-2.5-flash-image"),
        b"data: %s\n\n"
        % json.dumps({"choices": [{"delta": {"images": [OPENROUTER]}, "finish_reason": "stop"}]}).encode(),
    ),
    "huggingface": (
        "HUGGINGFACE",
        ImageOptions(
            "stabilityai/sdxl", size="512x512", settings={"num_inference_steps": 4, "guidance_scale": 3.5}
        ),
        PNG,
    ),
}
"""Provider → prefix of its settings, what is asked for, the answer (hand-built)."""
RECORDED = {
    "openai": "openai_images",
    "google": "gemini_images",
    "openrouter": "openrouter_images",
    "huggingface": "huggingface_images",
}
PATHS = {"huggingface": "/hf-inference"}
"""A server's address of one's own has no path only where one model is served."""


class Settings:
    """A key and the test's server as base URL of every provider."""

    def __init__(self, url: str, key: str = KEY) -> None:
        self._url = url
        self._key = key

    def get(self, name: str) -> str | None:
        if name.endswith("_BASE_URL"):
            return self._url + PATHS.get(name.removesuffix("_BASE_URL").lower(), "")
        return self._key if name.endswith("_API_KEY") else None


@pytest.fixture
def registry(server: WireServer) -> Iterator[ProviderRegistry]:
    registry = ProviderRegistry(Settings(server.url))
    yield registry
    registry.close()


def assert_recorded(server: WireServer, fixture: str) -> None:
    wanted = expected_request(FIXTURES / fixture / "request.json")
    sent = server.received[0]
    assert (sent.method, sent.path, sent.body) == (wanted["method"], wanted["path"], wanted["body"])
    for name, value in wanted["headers"].items():
        assert sent.headers[name] == value.replace("<SECRET>", KEY)


@pytest.mark.parametrize("name", MAKERS)
def test_an_image_is_asked_for_as_the_official_sdk_does(
    name: str, server: WireServer, registry: ProviderRegistry
) -> None:
    _, options, answer = MAKERS[name]
    server.answers.append(Answer((answer[:7], answer[7:])))
    assert registry.image_maker(name).imagine(PROMPT, options) == RED
    assert_recorded(server, RECORDED[name])


def test_an_image_behind_an_address_is_fetched(server: WireServer, registry: ProviderRegistry) -> None:
    linked = json.dumps({"data": [{"url": f"{server.url}/files/x.png"}]}).encode()
    server.answers += [Answer((linked,)), Answer((PNG,))]
    assert registry.image_maker("openai").imagine(PROMPT, ImageOptions("dall-e-3")) == RED
    assert (server.received[1].method, server.received[1].path) == ("GET", "/files/x.png")


def test_the_key_is_not_taken_to_another_host(server: WireServer, registry: ProviderRegistry) -> None:
    elsewhere = server.url.replace("127.0.0.1", "localhost")
    linked = json.dumps({"data": [{"url": f"{elsewhere}/files/x.png"}]}).encode()
    server.answers += [Answer((linked,)), Answer((PNG,))]
    assert registry.image_maker("openai").imagine(PROMPT, ImageOptions("dall-e-3")) == RED
    assert "authorization" in server.received[0].headers
    assert "authorization" not in server.received[1].headers


def test_an_address_that_is_gone_is_an_error(server: WireServer, registry: ProviderRegistry) -> None:
    linked = json.dumps({"data": [{"url": f"{server.url}/files/x.png"}]}).encode()
    server.answers += [Answer((linked,)), Answer((b"gone",), status=404)]
    with pytest.raises(ProviderRejectedRequest, match="openai: HTTP 404: gone"):
        registry.image_maker("openai").imagine(PROMPT, ImageOptions("dall-e-3"))


@pytest.mark.parametrize(
    ("name", "status", "body", "error_class"),
    [
        ("openai", 400, {"error": {"code": "moderation_blocked", "message": "no"}}, ProviderRejectedRequest),
        ("openai", 429, {"error": {"message": "slow down"}}, ProviderRateLimited),
        ("google", 503, {"error": {"message": "The model is overloaded."}}, ProviderOverloaded),
        ("huggingface", 503, {"error": "Model x is loading", "estimated_time": 20.0}, ProviderOverloaded),
        ("openrouter", 401, {"error": {"message": f"bad key {KEY}"}}, ProviderUnauthorized),
    ],
)
def test_a_refused_image_is_the_error_of_its_provider(
    name: str,
    status: int,
    body: object,
    error_class: type[ProviderError],
    server: WireServer,
    registry: ProviderRegistry,
) -> None:
    server.answers.append(Answer((json.dumps(body).encode(),), status=status))
    with pytest.raises(error_class) as raised:
        registry.image_maker(name).imagine(PROMPT, MAKERS[name][1])
    assert type(raised.value) is error_class
    assert raised.value.provider == name
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("name", MAKERS)
def test_an_image_that_breaks_off_is_no_image(
    name: str, server: WireServer, registry: ProviderRegistry
) -> None:
    _, options, answer = MAKERS[name]
    server.answers.append(Answer((answer[:40],), abrupt=True))
    with pytest.raises(StreamCut):
        registry.image_maker(name).imagine(PROMPT, options)


def test_an_answer_without_an_end_is_given_up(
    server: WireServer, registry: ProviderRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "_LARGEST_IMAGE", 50)
    server.answers.append(Answer((PNG,)))
    with pytest.raises(StreamCut, match="larger than 50 bytes"):
        registry.image_maker("huggingface").imagine(PROMPT, MAKERS["huggingface"][1])


def test_a_text_is_moderated_as_the_official_sdk_asks(server: WireServer, registry: ProviderRegistry) -> None:
    server.answers.append(Answer(((FIXTURES / "openai_moderation" / "flagged.json").read_bytes(),)))
    told = registry.moderator("openai").moderate("I will hit you")
    assert (told.flagged, told.categories) == (True, ("violence",))
    assert_recorded(server, "openai_moderation")


def test_a_moderation_that_fails_is_a_provider_error(server: WireServer, registry: ProviderRegistry) -> None:
    server.answers += [Answer((b"{}",)), Answer((b'{"error": {"message": "slow"}}',), status=429)]
    with pytest.raises(StreamCut, match="openai: "):
        registry.moderator("openai").moderate("Hi")
    with pytest.raises(ProviderRateLimited):
        registry.moderator("openai").moderate("Hi")


def test_who_cannot_is_answered_with_who_can(registry: ProviderRegistry) -> None:
    with pytest.raises(
        ProviderNotConfigured,
        match="those that do: bedrock, google, huggingface, openai, openrouter, scripted",
    ):
        registry.image_maker("anthropic")
    with pytest.raises(ProviderNotConfigured, match="moderates texts; those that do: openai"):
        registry.moderator("anthropic")


def test_without_a_key_nothing_is_sent() -> None:
    registry = ProviderRegistry(Settings("", key=""))
    with pytest.raises(ProviderNotConfigured, match="OPENAI_API_KEY is not set"):
        registry.moderator("openai").moderate("Hi")
    with pytest.raises(ProviderNotConfigured, match="OPENAI_API_KEY is not set"):
        registry.image_maker("openai").imagine(PROMPT, ImageOptions("gpt-image-1"))
