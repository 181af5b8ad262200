"""Hugging Face's text generation: parameters that its servers accept, and its own kinds of answers."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from parley.domain.agents import Capabilities
from parley.domain.errors import (
    ProviderError,
    ProviderOverloaded,
    ProviderRateLimited,
    ProviderRejectedRequest,
    StreamCut,
)
from parley.domain.messages import Usage
from parley.prompts.concatenated import STOP_SEQUENCES
from parley.prompts.prompt import Prompt
from parley.providers.registry import ProviderRegistry
from parley.providers.wire import openai_chat, text_generation
from parley.providers.wire.text_generation import decode_error, decode_stream, encode
from tests.support.replies import collect

FIXTURES = Path(__file__).parents[1] / "providers" / "fixtures" / "text_generation"
ONE_TEXT = Capabilities(supports_conversation=False)
ANSWERS = json.loads((FIXTURES / "errors.json").read_text())["answers"]


def prompt(*, conversing: bool = False, **settings: Any) -> Prompt:
    return Prompt(
        provider="huggingface",
        model="HuggingFaceTB/SmolLM3-3B",
        text=None if conversing else "Hi",
        capabilities=Capabilities() if conversing else ONE_TEXT,
        settings=settings,
    )


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"max_tokens": 8}, {"max_new_tokens": 8}),
        ({"max_tokens": 8, "max_new_tokens": 9}, {"max_new_tokens": 9}),
        ({"temperature": 0}, {"do_sample": False}),
        ({"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5, "top_p": 0.9}),
        ({"top_p": 1.0}, {}),
        ({"extra_body": {"parameters": {"watermark": True}}}, {"watermark": True}),
    ],
)
def test_parameters_are_those_that_servers_accept(settings: dict[str, Any], sent: dict[str, Any]) -> None:
    ours = {"stop": [*STOP_SEQUENCES], "return_full_text": False, "details": True}
    assert encode(prompt(**settings))["parameters"] == ours | sent


def test_no_more_stop_sequences_than_servers_take() -> None:
    assert encode(prompt(stop=["1", "2", "3"]))["parameters"]["stop"] == ["1", "2", "3", STOP_SEQUENCES[0]]


def test_special_tokens_are_left_out_and_details_tell_the_tokens_used() -> None:
    reply = collect(decode_stream((FIXTURES / "text.sse").read_text().splitlines()))
    assert reply.text == "Hello"
    assert reply.finish is not None
    assert reply.finish.usage == Usage(input_tokens=21, output_tokens=3)


@pytest.mark.parametrize("form", ["{}", "[{}]", "[\n{}\n]"])
def test_a_model_that_cannot_stream_is_understood(form: str) -> None:
    body = form.replace("{}", '{"generated_text": "Hi"}')
    assert collect(decode_stream(body.splitlines())).text == "Hi"


@pytest.mark.parametrize("body", ["[]", "{}", "[1]", '{"generated_text": null}', '{"error": "Oh no"}', "{"])
def test_an_answer_without_text_is_no_reply(body: str) -> None:
    with pytest.raises(StreamCut):
        collect(decode_stream([body]))


@pytest.mark.parametrize(
    ("kind", "error_class"),
    [
        ("generation", StreamCut),
        ("incomplete_generation", StreamCut),
        ("overloaded", ProviderOverloaded),
        ("validation", ProviderRejectedRequest),
    ],
)
def test_an_error_in_mid_stream_is_of_its_kind(kind: str, error_class: type[ProviderError]) -> None:
    line = "data:" + json.dumps({"error": "Oh no", "error_type": kind})
    with pytest.raises(error_class, match="Oh no"):
        collect(decode_stream([line, ""]))


@pytest.mark.parametrize("decode", [decode_error, openai_chat.decode_error])
def test_a_model_that_loads_tells_how_long(decode: Any) -> None:
    error = decode(503, {}, json.dumps(ANSWERS[2]["body"]))
    assert isinstance(error, ProviderOverloaded)
    assert error.retry_after == 20.0
    odd = decode(503, {"retry-after": "3"}, '{"error": "loading", "estimated_time": "soon"}')
    assert isinstance(odd, ProviderOverloaded)
    assert odd.retry_after == 3.0


def test_a_used_up_limit_tells_when_it_is_renewed() -> None:
    error = decode_error(429, ANSWERS[0]["headers"], json.dumps(ANSWERS[0]["body"]))
    assert isinstance(error, ProviderRateLimited)
    assert error.retry_after == 55.0
    assert decode_error(429, {"ratelimit": '"api";r=3;t=55'}, "").retry_after is None


def test_a_model_that_no_provider_serves_is_a_request_at_fault() -> None:
    error = decode_error(400, {}, json.dumps(ANSWERS[5]["body"]))
    assert isinstance(error, ProviderRejectedRequest)
    assert "not supported by any provider" in str(error)


@pytest.mark.parametrize(
    ("base", "conversing", "url"),
    [
        ("", False, "https://router.huggingface.co/hf-inference/models/HuggingFaceTB/SmolLM3-3B"),
        ("", True, "https://router.huggingface.co/v1/chat/completions"),
        ("http://tgi:8080", False, "http://tgi:8080/"),
        ("http://tgi:8080", True, "http://tgi:8080/v1/chat/completions"),
        ("http://proxy/hf/", False, "http://proxy/hf/models/HuggingFaceTB/SmolLM3-3B"),
    ],
)
def test_the_router_and_a_server_of_ones_own_are_both_reached(base: str, conversing: bool, url: str) -> None:
    requests: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=b'{"generated_text": "a", "choices": [{"finish_reason": "stop"}]}')

    class Settings:
        def get(self, name: str) -> str | None:
            return {"HUGGINGFACE_API_KEY": "hf_key", "HUGGINGFACE_BASE_URL": base}.get(name)

    registry = ProviderRegistry(Settings(), transport=httpx.MockTransport(handler))
    collect(registry.get("huggingface").stream(prompt(conversing=conversing)))
    assert str(requests[0].url) == url
    assert requests[0].method == "POST"


def test_the_path_is_safe_for_any_name() -> None:
    assert text_generation.path(prompt().but(model="a/b?c #1")) == "/models/a/b%3Fc%20%231"
