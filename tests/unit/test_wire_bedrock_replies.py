"""Bedrock's wire: what is read of its streams, its errors and its images; whom it asks."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.errors import (
    ProviderError,
    ProviderOverloaded,
    ProviderQuotaExceeded,
    ProviderRateLimited,
    ProviderRejectedRequest,
    ProviderTimeout,
    ProviderUnauthorized,
    ProviderUnavailable,
    StreamCut,
)
from parley.domain.messages import Usage
from parley.providers.bedrock import BedrockProvider
from parley.providers.http import TimeLimits
from parley.providers.registry import ProviderRegistry
from parley.providers.wire import bedrock_images
from parley.providers.wire.bedrock_converse import decode_error, decode_events
from parley.turns.model_ports import ImageOptions
from tests.support.replies import collect
from tests.unit.bedrock_events import begin, ends, part, prompt, read, stop


def test_cached_input_is_input() -> None:
    usage = {"inputTokens": 1, "cacheReadInputTokens": 20, "cacheWriteInputTokens": 300, "outputTokens": 4}
    reply = read(ends(), {"metadata": {"usage": usage}})
    assert reply.finish is not None
    assert reply.finish.usage == Usage(input_tokens=321, output_tokens=4)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("something_new", "stop"),
    ],
)
def test_every_reason_to_end_has_its_meaning(reason: str, told: str) -> None:
    reply = read(ends(reason))
    assert reply.finish is not None
    assert reply.finish.reason == told


@pytest.mark.parametrize("reason", ["malformed_model_output", "malformed_tool_use"])
def test_output_that_bedrock_itself_calls_malformed_is_tried_again(reason: str) -> None:
    with pytest.raises(StreamCut):
        read(part(0, text="Hel"), ends(reason))


def test_calls_that_bedrock_answers_itself_are_none_of_ours() -> None:
    theirs = begin(0, toolUseId="s1", name="nova_grounding", type="server_tool_use")
    reply = read(theirs, part(0, toolUse={"input": "{}"}), stop(0), part(1, text="Found."), ends())
    assert (reply.text, reply.calls) == ("Found.", [])


def test_a_connection_that_breaks_behind_the_end_loses_only_the_usage() -> None:
    def events() -> Iterator[dict[str, Any]]:
        yield part(0, text="a")
        yield ends()
        raise StreamCut("the connection failed")

    reply = collect(decode_events(events()))
    assert reply.text == "a"
    assert reply.finish is not None
    assert reply.finish.usage is None


@pytest.mark.parametrize(
    ("code", "status", "error_class"),
    [
        ("ThrottlingException", 429, ProviderRateLimited),
        ("ModelNotReadyException", 429, ProviderOverloaded),
        ("ModelTimeoutException", 408, ProviderTimeout),
        ("ModelErrorException", 424, ProviderUnavailable),
        ("ServiceUnavailableException", 503, ProviderUnavailable),
        ("ResourceNotFoundException", 404, ProviderRejectedRequest),
        ("ServiceQuotaExceededException", 400, ProviderQuotaExceeded),
        ("ExpiredTokenException", 400, ProviderUnauthorized),
        ("SomethingNew", 418, ProviderRejectedRequest),
        ("throttlingException", None, ProviderRateLimited),
        ("validationException", None, ProviderRejectedRequest),
        ("modelStreamErrorException", None, StreamCut),
        ("internalServerException", None, StreamCut),
        ("serviceUnavailableException", None, StreamCut),
    ],
)
def test_the_services_errors_are_ours(
    code: str, status: int | None, error_class: type[ProviderError]
) -> None:
    assert type(decode_error(code, "Oh no", status=status, headers={})) is error_class


def test_a_model_gets_the_form_of_its_family_and_what_it_has_words_for() -> None:
    wishes = {"size": "512x256", "aspect_ratio": "2:1", "quality": "premium"}
    seeded = {"imageGenerationConfig": {"seed": 1}, "taskType": "TEXT_IMAGE"}
    amazon = bedrock_images.encode(
        "a cube", ImageOptions("amazon.nova-canvas-v1:0", **wishes, settings=seeded)
    )
    assert amazon == {
        "taskType": "TEXT_IMAGE",
        "textToImageParams": {"text": "a cube"},
        "imageGenerationConfig": {
            "numberOfImages": 1,
            "width": 512,
            "height": 256,
            "quality": "premium",
            "seed": 1,
        },
    }
    core = ImageOptions("us.stability.stable-image-core-v1:1", **wishes, settings={"seed": 1})
    assert bedrock_images.encode("a cube", core) == {"prompt": "a cube", "aspect_ratio": "2:1", "seed": 1}


@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        ({"images": [], "error": "It violates a policy."}, ProviderRejectedRequest),
        ({"images": [""], "finish_reasons": ["Filter reason: prompt"]}, ProviderRejectedRequest),
        ({"images": [], "finish_reasons": ["Inference error"]}, ProviderUnavailable),
        ({"images": [None], "finish_reasons": [None]}, StreamCut),
        ({"images": ["bm90IGFuIGltYWdl"]}, StreamCut),
        ([], StreamCut),
    ],
)
def test_an_answer_without_an_image_says_why(answer: Any, error_class: type[ProviderError]) -> None:
    with pytest.raises(error_class):
        bedrock_images.decode(json.dumps(answer).encode())


class Nothing:
    def get(self, name: str) -> str | None:
        return None


class Stream:
    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.events = events
        self.closed = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.events)

    def close(self) -> None:
        self.closed = True


class Client:
    """Stands in for boto3's."""

    def __init__(self, *events: dict[str, Any]) -> None:
        self.stream = Stream(list(events))
        self.asked: list[dict[str, Any]] = []

    def converse_stream(self, **request: Any) -> dict[str, Any]:
        self.asked.append(request)
        return {"stream": self.stream}

    def invoke_model(self, **request: Any) -> dict[str, Any]:
        raise AssertionError("no image was asked for")

    def close(self) -> None:
        raise AssertionError("whoever gave the client closes it")


def test_a_client_of_ones_own_is_asked_and_its_stream_closed() -> None:
    client = Client(part(0, text="Hi"), ends())
    registry = ProviderRegistry(Nothing(), bedrock=client)
    assert registry.get("bedrock").is_configured()
    assert collect(registry.get("bedrock").stream(prompt(tools=()))).text == "Hi"
    assert client.asked == [{"modelId": "m", "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}]
    assert client.stream.closed
    registry.close()


def test_a_reply_that_goes_on_for_too_long_is_given_up() -> None:
    seconds = iter(range(0, 10_000, 60))
    client = Client(*[part(0, text="…")] * 10, ends())
    provider = BedrockProvider(
        Nothing(), client=client, limits=TimeLimits(total=240), monotonic=lambda: next(seconds)
    )
    with pytest.raises(ProviderTimeout, match="240"):
        collect(provider.stream(prompt()))
    assert client.stream.closed


def test_a_place_to_ask_configures_it() -> None:
    class Settings:
        def __init__(self, name: str) -> None:
            self.name = name

        def get(self, name: str) -> str | None:
            return "x" if name == self.name else None

    assert not BedrockProvider(Nothing()).is_configured()
    for name in ("BEDROCK_REGION", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "BEDROCK_BASE_URL"):
        assert BedrockProvider(Settings(name)).is_configured()


_names = st.sampled_from(
    ["contentBlockIndex", "delta", "start", "toolUse", "text", "input", "name", "stopReason", "usage"]
)
_kinds = st.sampled_from(
    ["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"]
)
_odd = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.sampled_from(["", "a", "end_turn"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(st.dictionaries(_kinds, _odd, max_size=2), max_size=6))
def test_any_events_are_a_reply_or_a_provider_error(events: list[dict[str, Any]]) -> None:
    with contextlib.suppress(ProviderError):
        assert read(*events, ends()).finish is not None
