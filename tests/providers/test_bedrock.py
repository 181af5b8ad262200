"""Each case against Bedrock, through boto3 itself, over a real connection, in awkward pieces."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from parley.domain.errors import (
    ProviderNotConfigured,
    ProviderRateLimited,
    ProviderRejectedRequest,
    ProviderUnavailable,
    StreamCut,
)
from parley.domain.messages import ToolCall, Usage
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.registry import ProviderRegistry
from parley.turns.model_ports import Image, ImageOptions
from tests.providers import samples_bedrock
from tests.providers.cases import FAILURES, REPLIES, Sample
from tests.providers.samples_bedrock import SAMPLES
from tests.support.pictures import BASE64, PNG
from tests.support.recorded import expected_request
from tests.support.replies import Reply, collect
from tests.support.wire_server import Answer, WireServer, wire_server

Ask = Callable[..., Reply]
KEY = "wJalrXUtnFEMI-secret"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Settings:
    def __init__(self, **values: str) -> None:
        self.values = values

    def get(self, name: str) -> str | None:
        return self.values.get(name)


@pytest.fixture(scope="module", autouse=True)
def _account() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        _live_in_one_account(monkeypatch)
        yield


def _live_in_one_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)


@pytest.fixture(scope="module")
def running(_account: None) -> Iterator[tuple[WireServer, ProviderRegistry]]:
    """One server and one client for all tests: boto3 takes its time to make one."""
    with wire_server() as server:
        registry = ProviderRegistry(Settings(BEDROCK_BASE_URL=server.url))
        yield server, registry
        registry.close()


@pytest.fixture
def server(running: tuple[WireServer, ProviderRegistry]) -> WireServer:
    server = running[0]
    server.received.clear()
    server.answers.clear()
    server.client_left.clear()
    return server


@pytest.fixture
def ask(server: WireServer, running: tuple[WireServer, ProviderRegistry]) -> Ask:
    def asking(sample: Sample, piece: int = 1000, asked: Prompt | None = None) -> Reply:
        server.answers.append(answer(sample, piece))
        return collect(running[1].get("bedrock").stream(asked or prompt()))

    return asking


def prompt(**changes: object) -> Prompt:
    call = ToolCall(tool_call_id="tooluse_Paris1", name="get_weather", arguments={"city": "Paris"})
    values = {
        "provider": "bedrock",
        "model": "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "system": "Be brief.",
        "messages": (
            PromptMessage(role="user", content="Hi, I am Ann."),
            PromptMessage(role="assistant", content="Hi Ann."),
            PromptMessage(role="user", content="What is the weather in Paris?"),
            PromptMessage(role="assistant", tool_calls=(call,)),
            PromptMessage(role="tool", content='{"temp_c":18}', tool_call_id="tooluse_Paris1"),
        ),
        "tools": (ToolSpec(name="get_weather", description="Current weather of a city", parameters=SCHEMA),),
        "settings": {"max_tokens": 256, "temperature": 0.2, "tool_choice": "auto"},
    }
    return Prompt.model_validate(values | changes)


def answer(sample: Sample, piece: int = 1000) -> Answer:
    pieces = tuple(sample.body[start : start + piece] for start in range(0, len(sample.body), piece))
    headers = {"content-type": "application/vnd.amazon.eventstream", **dict(sample.headers)}
    return Answer(pieces, status=sample.status, headers=headers, abrupt=sample.abrupt)


def sample_for(case: str) -> Sample:
    if case in samples_bedrock.NOT_APPLICABLE:
        pytest.skip(samples_bedrock.NOT_APPLICABLE[case])
    return SAMPLES[case]


def test_there_is_a_sample_for_every_case() -> None:
    assert {*REPLIES, *FAILURES} == {*SAMPLES, *samples_bedrock.NOT_APPLICABLE}
    assert not {*SAMPLES} & {*samples_bedrock.NOT_APPLICABLE}


@pytest.mark.parametrize("piece", [1, 7, 1000])
@pytest.mark.parametrize("case", REPLIES)
def test_a_reply_is_read_whole_however_it_is_cut(case: str, piece: int, ask: Ask) -> None:
    reply = ask(sample_for(case), piece)
    assert REPLIES[case](reply), reply


@pytest.mark.parametrize("piece", [2, 1000])
@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_is_the_right_error(case: str, piece: int, ask: Ask) -> None:
    error_class, wait = FAILURES[case]
    with pytest.raises(error_class) as raised:
        ask(sample_for(case), piece)
    assert type(raised.value) is error_class
    assert raised.value.retry_after == wait
    assert raised.value.provider == "bedrock"
    assert str(raised.value).startswith("bedrock: ")
    assert KEY not in str(raised.value)


def test_the_request_is_what_boto3_was_recorded_to_send(server: WireServer, ask: Ask) -> None:
    recorded = expected_request(samples_bedrock.FIXTURES / "request.json")
    ask(SAMPLES["text"])
    sent = server.received[0]
    assert (sent.method, sent.path) == (recorded["method"], recorded["path"])
    assert sent.body == recorded["body"]
    assert sent.headers["content-type"] == recorded["headers"]["content-type"]
    assert sent.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/")
    assert "attempt=1; max=1" in sent.headers["amz-sdk-request"]


def test_the_tokens_used_come_behind_the_end(ask: Ask) -> None:
    reply = ask(SAMPLES["text"])
    assert reply.finish is not None
    assert reply.finish.usage == Usage(input_tokens=70, output_tokens=2)


def test_a_signed_thought_comes_back_unchanged(server: WireServer, ask: Ask) -> None:
    streams = json.loads((samples_bedrock.FIXTURES / "streams.json").read_text())
    reply = ask(Sample("hand-built", base64.b64decode(streams["tool_call"])))
    assert reply.finish is not None
    call = ToolCall(tool_call_id="call_1", name="get_weather", arguments={"city": "Paris"})
    answered = (
        PromptMessage(role="user", content="Hi"),
        PromptMessage(
            role="assistant",
            tool_calls=(call,),
            provider="bedrock",
            provider_data=reply.finish.provider_data,
        ),
        PromptMessage(role="tool", content="18", tool_call_id="call_1"),
    )
    ask(SAMPLES["text"], asked=prompt(messages=answered))
    assistant = server.received[-1].body["messages"][1]["content"]
    thought = {"text": "Need weather.", "signature": "EqQBexample"}
    assert assistant[0] == {"reasoningContent": {"reasoningText": thought}}
    assert assistant[1]["toolUse"]["toolUseId"] == "call_1"


def test_throttling_inside_a_stream_is_throttling(ask: Ask) -> None:
    streams = json.loads((samples_bedrock.FIXTURES / "streams.json").read_text())
    with pytest.raises(ProviderRateLimited):
        ask(Sample("hand-built", base64.b64decode(streams["throttle"])))


def test_a_complaint_about_the_signature_does_not_repeat_the_request(ask: Ask) -> None:
    words = "The signature does not match. The Canonical String for this request: x-amz-security-token:T0k3n"
    with pytest.raises(Exception, match="does not match") as raised:
        ask(samples_bedrock.refused(403, "InvalidSignatureException", words))
    assert "T0k3n" not in str(raised.value)


def test_an_image_is_made_as_boto3_was_recorded_to_ask(
    server: WireServer, running: tuple[WireServer, ProviderRegistry]
) -> None:
    recorded = expected_request(samples_bedrock.FIXTURES / "image_request.json")
    made = Sample("hand-built", json.dumps({"images": [BASE64], "error": None}).encode())
    server.answers.append(answer(made, piece=5))
    options = ImageOptions("amazon.titan-image-generator-v2:0", size="512x512")
    assert running[1].image_maker("bedrock").imagine("a red cube", options) == Image(PNG, "image/png")
    sent = server.received[0]
    assert (sent.method, sent.path, sent.body) == (recorded["method"], recorded["path"], recorded["body"])
    assert {name: sent.headers[name] for name in recorded["headers"]} == recorded["headers"]


@pytest.mark.parametrize(
    ("sample", "error_class"),
    [
        (samples_bedrock.refused(429, "ThrottlingException"), ProviderRateLimited),
        (samples_bedrock.refused(400, "ValidationException", "Blocked."), ProviderRejectedRequest),
        (Sample("hand-built", b'{"images": null, "error": "Blocked."}'), ProviderRejectedRequest),
        (Sample("hand-built", b'{"images": ["'), StreamCut),
        (Sample("hand-built", b'{"images": ["', abrupt=True), StreamCut),
    ],
)
def test_an_image_that_is_not_made_is_the_right_error(
    sample: Sample,
    error_class: type[Exception],
    server: WireServer,
    running: tuple[WireServer, ProviderRegistry],
) -> None:
    server.answers.append(answer(sample))
    with pytest.raises(error_class) as raised:
        running[1].image_maker("bedrock").imagine("a red cube", ImageOptions("amazon.nova-canvas-v1:0"))
    assert type(raised.value) is error_class
    assert str(raised.value).startswith("bedrock: ")


def test_closing_the_stream_closes_the_connection(
    server: WireServer, running: tuple[WireServer, ProviderRegistry]
) -> None:
    server.answers.append(Answer((SAMPLES["no terminal event"].body,), hold=server.client_left))
    stream = running[1].get("bedrock").stream(prompt())
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert server.client_left.wait(120)


def test_nobody_listening_is_retryable() -> None:
    with wire_server() as server:
        url = server.url
    registry = ProviderRegistry(Settings(BEDROCK_BASE_URL=url))
    with pytest.raises(ProviderUnavailable):
        collect(registry.get("bedrock").stream(prompt()))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "region"),
        ({"AWS_PROFILE": "nobody", "AWS_REGION": "eu-west-1"}, "nobody"),
        ({"AWS_REGION": "eu west"}, "eu west"),
    ],
)
def test_settings_that_lead_nowhere_are_named(settings: dict[str, str], words: str) -> None:
    registry = ProviderRegistry(Settings(**settings))
    with pytest.raises(ProviderNotConfigured, match=words):
        collect(registry.get("bedrock").stream(prompt()))


def test_without_credentials_it_is_not_configured(
    server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    registry = ProviderRegistry(Settings(BEDROCK_BASE_URL=server.url))
    with pytest.raises(ProviderNotConfigured, match="credentials"):
        collect(registry.get("bedrock").stream(prompt()))
    assert not server.received


def test_arguments_that_boto3_refuses_are_the_requests_fault(server: WireServer, ask: Ask) -> None:
    with pytest.raises(ProviderRejectedRequest, match="maxTokens"):
        ask(SAMPLES["text"], asked=prompt(settings={"max_tokens": "many"}))
    assert not server.received


def test_boto3_is_not_imported_before_a_call() -> None:
    code = "import sys, parley.providers.registry; sys.exit(any(m.startswith('boto') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
