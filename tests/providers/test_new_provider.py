"""A provider of a known wire is one row: the one in the documentation, and nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.domain.agents import Capabilities
from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.endpoints import Endpoint, endpoints
from parley.providers.registry import ProviderRegistry
from parley.providers.wire import openai_chat
from tests.providers import samples_openai_chat
from tests.providers.cases import FAILURES, REPLIES
from tests.support.replies import collect
from tests.support.wire_server import Answer, WireServer, wire_server

DOCUMENTATION = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
PROMPT = Prompt(
    provider="mistral", model="mistral-small", messages=(PromptMessage(role="user", content="Hi"),)
)


def documented_row() -> Endpoint:
    (code,) = re.findall(r"```python\n(Endpoint\(.*?)```", DOCUMENTATION, re.DOTALL)
    row = eval(code, {"Endpoint": Endpoint, "openai_chat": openai_chat})  # noqa: S307 - our own page
    assert isinstance(row, Endpoint)
    return row


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with wire_server() as running:
        yield running


class Settings:
    def __init__(self, url: str) -> None:
        self.values = {"MISTRAL_API_KEY": "key-of-mistral", "MISTRAL_BASE_URL": url}

    def get(self, name: str) -> str | None:
        return self.values.get(name)


@pytest.fixture
def registry(server: WireServer) -> Iterator[ProviderRegistry]:
    row = documented_row()
    assert row.name not in {known.name for known in endpoints()}
    registry = ProviderRegistry(Settings(server.url), rows=(*endpoints(), row))
    yield registry
    registry.close()


def test_the_new_provider_is_there_like_any_other(registry: ProviderRegistry) -> None:
    assert "mistral" in registry.names()
    assert {row.name for row in endpoints()} < {*registry.names()}
    provider = registry.get("mistral")
    assert provider.is_configured()
    assert provider.capabilities() == Capabilities()


@pytest.mark.parametrize("case", REPLIES)
def test_the_new_provider_answers_every_case(
    case: str, registry: ProviderRegistry, server: WireServer
) -> None:
    sample = samples_openai_chat.SAMPLES[case]
    server.answers.append(Answer((sample.body,), status=sample.status))
    assert REPLIES[case](collect(registry.get("mistral").stream(PROMPT)))
    sent = server.received[0]
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.headers["authorization"] == "Bearer key-of-mistral"
    assert sent.body["model"] == "mistral-small"


@pytest.mark.parametrize("case", FAILURES)
def test_the_new_provider_fails_as_every_other(
    case: str, registry: ProviderRegistry, server: WireServer
) -> None:
    sample = samples_openai_chat.SAMPLES[case]
    server.answers.append(
        Answer((sample.body,), status=sample.status, headers=dict(sample.headers), abrupt=sample.abrupt)
    )
    with pytest.raises(FAILURES[case][0], match=r"^mistral: "):
        collect(registry.get("mistral").stream(PROMPT))
