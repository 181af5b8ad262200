"""Each case against each provider's wire, over a real connection, in awkward pieces."""

from types import ModuleType

import httpx
import pytest

from parley.domain.agents import Capabilities
from parley.domain.errors import RetryableProviderError
from parley.domain.messages import ToolCall, Usage
from parley.prompts.concatenated import concatenated_prompt
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.prompts.xml_tools import as_text
from parley.providers.endpoints import Endpoint, endpoints
from parley.providers.registry import ProviderRegistry
from tests.providers import (
    samples_anthropic,
    samples_deepseek,
    samples_gemini,
    samples_groq,
    samples_huggingface_chat,
    samples_ollama_chat,
    samples_ollama_generate,
    samples_openai_chat,
    samples_openai_responses,
    samples_openrouter,
    samples_replicate,
    samples_text_generation,
)
from tests.providers.cases import FAILURES, REPLIES, SERVER, Sample
from tests.support.recorded import expected_request
from tests.support.replies import Reply, collect
from tests.support.wire_server import Answer, WireServer, wire_server

SAMPLES: dict[str, ModuleType] = {
    "openai_chat": samples_openai_chat,
    "openai_responses": samples_openai_responses,
    "gemini": samples_gemini,
    "anthropic": samples_anthropic,
    "ollama_generate": samples_ollama_generate,
    "text_generation": samples_text_generation,
    "replicate": samples_replicate,
}
"""Wire → its samples. A module may also say which MODEL, SETTINGS and MESSAGES its recorded request has, and
which INSTALLATION settings."""

OWN_SAMPLES: dict[str, ModuleType] = {
    "deepseek": samples_deepseek,
    "openrouter": samples_openrouter,
    "groq": samples_groq,
    "ollama/conversing": samples_ollama_chat,
    "huggingface/conversing": samples_huggingface_chat,
}
"""Provider → its samples, where they are not just its wire's."""

KEY = "sk-test-0123456789"
PROVIDERS = (
    [row.name for row in endpoints()]
    + [f"{row.name}/{name}" for row in endpoints() if row.choice for name in row.choice.wires]
    + [f"{row.name}/conversing" for row in endpoints() if row.conversing]
)
"""``provider`` speaks the wire that nobody chose, ``provider/name`` the one that the installation chose, and
``provider/conversing`` that of agents whose capabilities claim all."""
PIECES = (7, 1000)
SMALL_PIECES = (1, 3)
"""Cut without a connection, which would take most of the time: what reads the body is the same."""


class SettingsOf:
    """Settings of a provider that lives at the test's server."""

    def __init__(self, provider: str, url: str) -> None:
        row, chosen = row_of(provider)
        self.values = {row.key_setting: KEY, row.base_url_setting: url}
        self.values |= getattr(samples_of(provider), "INSTALLATION", {})
        if row.choice and chosen:
            self.values[row.choice.setting] = chosen

    def get(self, name: str) -> str | None:
        return self.values.get(name)


def row_of(provider: str) -> tuple[Endpoint, str]:
    name, _, chosen = provider.partition("/")
    return next(row for row in endpoints() if row.name == name), chosen


def samples_of(provider: str) -> ModuleType | None:
    row, chosen = row_of(provider)
    if provider in OWN_SAMPLES:
        return OWN_SAMPLES[provider]
    wire = row.choice.wires[chosen] if row.choice and chosen else row.wire
    return SAMPLES.get(getattr(wire, "__name__", "").rpartition(".")[2])


def prompt_for(provider: str) -> Prompt:
    call = ToolCall(tool_call_id="call_Paris1", name="get_weather", arguments={"city": "Paris"})
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    samples = samples_of(provider)
    messages = (
        PromptMessage(role="user", content="Hi, I am Ann."),
        PromptMessage(role="assistant", content="Hi Ann."),
        PromptMessage(role="user", content="What is the weather in Paris?"),
        PromptMessage(role="assistant", tool_calls=(call,)),
        PromptMessage(role="tool", content='{"temp_c":18}', tool_call_id="call_Paris1", name="get_weather"),
    )
    row, chosen = row_of(provider)
    capabilities = Capabilities() if chosen == "conversing" else row.capabilities
    whole = Prompt(
        provider=row.name,
        model=getattr(samples, "MODEL", "gpt-5.1"),
        capabilities=capabilities,
        settings=getattr(samples, "SETTINGS", {}),
        system="Be brief.",
        messages=getattr(samples, "MESSAGES", messages),
        tools=(ToolSpec(name="get_weather", description="Current weather of a city", parameters=schema),),
    )
    if capabilities.supports_conversation:
        return whole
    text = concatenated_prompt(whole.system, as_text(whole.messages))
    return whole.but(text=text, tools=(), xml_tools=True)


def answer(server: WireServer, sample: Sample, piece: int) -> Answer:
    body = sample.body.replace(SERVER.encode(), server.url.encode())
    pieces = tuple(body[start : start + piece] for start in range(0, len(body), piece))
    return Answer(pieces, status=sample.status, headers=dict(sample.headers), abrupt=sample.abrupt)


def call(provider: str, server: WireServer, sample: Sample, piece: int) -> Reply:
    server.answers.extend(answer(server, each, piece) for each in (*sample.before, sample))
    registry = ProviderRegistry(SettingsOf(provider, server.url))
    try:
        return collect(registry.get(row_of(provider)[0].name).stream(prompt_for(provider)))
    finally:
        registry.close()


def cut(provider: str, sample: Sample, piece: int) -> Reply:
    """The reply when its body comes in such pieces, without a connection."""
    url = "http://provider.test"
    samples = iter((*sample.before, sample))

    def respond(request: httpx.Request) -> httpx.Response:
        each = next(samples)
        body = each.body.replace(SERVER.encode(), url.encode())
        pieces = (body[start : start + piece] for start in range(0, len(body), piece))
        return httpx.Response(each.status, headers=dict(each.headers), content=pieces)

    transport = httpx.MockTransport(respond)
    registry = ProviderRegistry(SettingsOf(provider, url), transport=transport)
    return collect(registry.get(row_of(provider)[0].name).stream(prompt_for(provider)))


def sample_for(provider: str, case: str) -> Sample:
    samples = samples_of(provider)
    assert samples is not None
    if case in samples.NOT_APPLICABLE:
        pytest.skip(samples.NOT_APPLICABLE[case])
    return samples.SAMPLES[case]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_has_a_sample_for_every_case(provider: str) -> None:
    samples = samples_of(provider)
    assert samples is not None, f"the wire of {provider} has no samples"
    wanted = {*REPLIES, *FAILURES}
    assert wanted == {*samples.SAMPLES, *samples.NOT_APPLICABLE}
    assert not {*samples.SAMPLES} & {*samples.NOT_APPLICABLE}
    assert all(sample.label in {"recorded", "hand-built"} for sample in samples.SAMPLES.values())


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("case", REPLIES)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_is_read_whole_however_it_is_cut(
    provider: str, case: str, piece: int, server: WireServer
) -> None:
    reply = call(provider, server, sample_for(provider, case), piece)
    assert REPLIES[case](reply), reply


@pytest.mark.parametrize("piece", SMALL_PIECES)
@pytest.mark.parametrize("case", REPLIES)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_is_read_whole_however_small_it_is_cut(provider: str, case: str, piece: int) -> None:
    reply = cut(provider, sample_for(provider, case), piece)
    assert REPLIES[case](reply), reply


@pytest.mark.parametrize("piece", [2, 1000])
@pytest.mark.parametrize("case", FAILURES)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_failure_is_the_right_error(provider: str, case: str, piece: int, server: WireServer) -> None:
    error_class, wait = FAILURES[case]
    with pytest.raises(error_class) as raised:
        call(provider, server, sample_for(provider, case), piece)
    assert type(raised.value) is error_class
    assert raised.value.retry_after == wait
    assert raised.value.provider == row_of(provider)[0].name
    assert str(raised.value).startswith(f"{raised.value.provider}: ")
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_request_is_what_the_official_sdk_sends(provider: str, server: WireServer) -> None:
    samples = samples_of(provider)
    assert samples is not None
    recorded = expected_request(samples.FIXTURES / "request.json")
    call(provider, server, samples.SAMPLES["text"], 1000)
    sent = server.received[0]
    assert (sent.method, sent.path) == (recorded["method"], recorded["path"])
    assert sent.body == recorded["body"]
    for name, value in recorded["headers"].items():
        assert sent.headers[name] == value.replace("<SECRET>", KEY)


def test_openai_tells_the_tokens_used(server: WireServer) -> None:
    reply = call("openai", server, samples_openai_chat.SAMPLES["text"], 1000)
    assert reply.finish is not None
    assert reply.finish.usage == Usage(input_tokens=91, output_tokens=2)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_closing_the_stream_closes_the_connection(provider: str, server: WireServer) -> None:
    sample = sample_for(provider, "no terminal event")
    server.answers.extend(answer(server, each, 1000) for each in sample.before)
    server.answers.append(Answer((sample.body,), hold=server.client_left))
    registry = ProviderRegistry(SettingsOf(provider, server.url))
    stream = registry.get(row_of(provider)[0].name).stream(prompt_for(provider))
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert server.client_left.wait(120)
    registry.close()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_nobody_listening_is_retryable(provider: str) -> None:
    with wire_server() as server:
        url = server.url
    registry = ProviderRegistry(SettingsOf(provider, url))
    with pytest.raises(RetryableProviderError):
        collect(registry.get(row_of(provider)[0].name).stream(prompt_for(provider)))
    registry.close()
