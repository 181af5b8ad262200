"""Replicate: a prediction is made, then streamed or asked for again, and cancelled if nobody wants the rest."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.agents import Capabilities
from parley.domain.errors import (
    ProviderError,
    ProviderOverloaded,
    ProviderRateLimited,
    ProviderTimeout,
    StreamCut,
)
from parley.domain.messages import Usage
from parley.prompts.prompt import Prompt
from parley.providers.http import TimeLimits
from parley.providers.registry import ProviderRegistry
from parley.providers.wire.protocol import FollowUp
from parley.providers.wire.replicate import POLL_SECONDS, decode_error, decode_stream, encode, headers, path
from tests.support.replies import Reply, collect

FIXTURES = Path(__file__).parents[1] / "providers" / "fixtures" / "replicate"
VERSION = "5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa"
API = "https://api.replicate.com/v1/predictions/gm3"
STREAM = "https://stream.replicate.com/v1/files/abc"
KEY = "r8_0123456789abcdef"


def prompt(model: str = "meta/llama", **settings: Any) -> Prompt:
    one_text = Capabilities(supports_conversation=False)
    return Prompt(provider="replicate", model=model, text="Hi", capabilities=one_text, settings=settings)


def prediction(status: str = "starting", stream: str | None = None, **fields: Any) -> dict[str, Any]:
    urls = {"get": API, "cancel": f"{API}/cancel"} | ({"stream": stream} if stream else {})
    return {"id": "gm3", "status": status, "output": None, "urls": urls, **fields}


class Server:
    """Answers each request in turn; remembers them."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.slept: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, dict):
            return httpx.Response(201, json=answer)
        return httpx.Response(200, content=answer)

    def stream(self, asked: Prompt | None = None, limits: TimeLimits | None = None) -> Iterator[Any]:
        registry = ProviderRegistry(
            self, transport=httpx.MockTransport(self), sleep=self.slept.append, limits=limits
        )
        return registry.get("replicate").stream(asked or prompt())

    def get(self, name: str) -> str | None:
        return KEY if name == "REPLICATE_API_KEY" else None

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(request.method, str(request.url)) for request in self.requests]


def reply_of(server: Server, **settings: Any) -> Reply:
    return collect(server.stream(prompt(**settings)))


@pytest.mark.parametrize(
    ("model", "sent_to", "version"),
    [
        ("meta/meta-llama-3-70b-instruct", "/models/meta/meta-llama-3-70b-instruct/predictions", None),
        (VERSION, "/predictions", VERSION),
        (f"owner/name:{VERSION}", "/predictions", VERSION),
    ],
)
def test_a_model_or_one_version_of_it_is_run(model: str, sent_to: str, version: str | None) -> None:
    assert path(prompt(model)) == sent_to
    assert encode(prompt(model)).get("version") == version


def test_settings_are_the_models_own_input() -> None:
    asked = prompt(top_k=50, wait=None, script=[], extra_body={"webhook": "https://app.example"})
    assert encode(asked) == {
        "input": {"prompt": "Hi", "top_k": 50},
        "stream": True,
        "webhook": "https://app.example",
    }


@pytest.mark.parametrize(
    ("wait", "header"), [(True, "wait"), (10, "wait=10"), (900, "wait=60"), (0.2, "wait=1"), (False, None)]
)
def test_waiting_is_asked_for_in_a_header_and_then_nothing_streams(wait: Any, header: str | None) -> None:
    assert headers(prompt(wait=wait)).get("prefer") == header
    assert ("stream" in encode(prompt(wait=wait))) == (header is None)
    assert "wait" not in encode(prompt(wait=wait))["input"]


def test_a_stream_is_followed_to_where_the_prediction_says() -> None:
    server = Server(prediction(stream=STREAM), (FIXTURES / "text.sse").read_bytes())
    reply = reply_of(server)
    assert reply.text == "Hello\n\nsecond line"
    assert reply.finish is not None
    assert reply.finish.reason == "stop"
    assert server.said == [
        ("POST", "https://api.replicate.com/v1/models/meta/llama/predictions"),
        ("GET", STREAM),
    ]
    assert server.requests[1].headers["accept"] == "text/event-stream"
    assert server.requests[1].headers["authorization"] == f"Bearer {KEY}"
    assert server.slept == []


def test_a_model_that_cannot_stream_is_asked_until_it_is_done() -> None:
    counts = {"input_token_count": 9, "output_token_count": 2}
    done = prediction("succeeded", output=["Hel", "lo"], metrics=counts)
    server = Server(prediction(), prediction("processing"), done)
    reply = reply_of(server)
    assert reply.text == "Hello"
    assert reply.finish is not None
    assert reply.finish.usage == Usage(input_tokens=9, output_tokens=2)
    assert server.said[1:] == [("GET", API), ("GET", API)]
    assert server.slept == [POLL_SECONDS, POLL_SECONDS]


def test_an_answer_that_was_waited_for_needs_no_second_request() -> None:
    server = Server(prediction("succeeded", output="Hello"))
    assert reply_of(server, wait=True).text == "Hello"
    assert server.requests[0].headers["prefer"] == "wait"
    assert len(server.requests) == 1


def test_a_wait_that_was_too_short_goes_on_by_asking() -> None:
    server = Server(prediction("processing"), prediction("succeeded", output={"answer": "Hello"}))
    assert reply_of(server, wait=5).text == '{"answer": "Hello"}'


def test_who_gives_up_cancels_the_prediction() -> None:
    body = b"event: output\ndata: Hel\n\n" + b"event: output\ndata: lo\n\n" * 3
    server = Server(prediction(stream=STREAM), body, prediction("canceled"))
    stream = server.stream()
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert server.said[-1] == ("POST", f"{API}/cancel")
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"


def test_a_reply_that_ended_is_not_cancelled() -> None:
    server = Server(prediction(stream=STREAM), (FIXTURES / "text.sse").read_bytes())
    stream = server.stream()
    for delta in stream:
        if type(delta).__name__ == "Finish":
            stream.close()  # type: ignore[attr-defined]
    assert len(server.requests) == 2


@pytest.mark.parametrize("answer", [httpx.ConnectError("gone"), prediction("succeeded")])
def test_a_cancel_that_fails_does_no_harm(answer: Any) -> None:
    server = Server(prediction(stream=STREAM), b"event: output\ndata: Hel\n\n", answer)
    with pytest.raises(StreamCut, match="last event"):
        collect(server.stream())
    assert server.said[-1][1].endswith("/cancel")


@pytest.mark.parametrize(
    ("fixture", "words"), [("error_in_stream.sse", "CUDA out of memory"), ("canceled.sse", "canceled")]
)
def test_a_prediction_that_fails_in_mid_stream_is_an_error(fixture: str, words: str) -> None:
    server = Server(prediction(stream=STREAM), (FIXTURES / fixture).read_bytes(), prediction("failed"))
    with pytest.raises(StreamCut, match=words):
        collect(server.stream())


@pytest.mark.parametrize("status", ["failed", "canceled", "aborted"])
def test_a_prediction_that_did_not_succeed_is_an_error(status: str) -> None:
    error = "interrupted" if status == "failed" else None
    server = Server(prediction(), prediction(status, error=error), {})
    with pytest.raises(StreamCut, match=error or f"the prediction was {status}"):
        collect(server.stream())


def test_asking_again_ends_with_the_time_limit() -> None:
    server = Server(*[prediction("processing")] * 3)
    with pytest.raises(ProviderTimeout):
        collect(server.stream(limits=TimeLimits(total=POLL_SECONDS / 2)))
    assert server.said[-1] == ("POST", f"{API}/cancel")


@pytest.mark.parametrize(
    ("stream", "check"),
    [
        ("https://elsewhere.example/s", lambda request: "authorization" not in request.headers),
        ("https://api.replicate.com:444/s", lambda request: "authorization" in request.headers),
        ("/v1/s", lambda request: str(request.url) == "https://api.replicate.com/v1/s"),
    ],
)
def test_the_key_goes_to_known_hosts_only(stream: str, check: Callable[[httpx.Request], bool]) -> None:
    server = Server(prediction(stream=stream), (FIXTURES / "text.sse").read_bytes())
    collect(server.stream())
    assert check(server.requests[1])


@pytest.mark.parametrize("stream", ["http://api.replicate.com/s", "file:///etc/passwd", "https://a:port"])
def test_an_address_that_is_less_safe_is_not_followed(stream: str) -> None:
    server = Server(prediction(stream=stream), prediction("canceled"))
    with pytest.raises(ProviderError):
        collect(server.stream())
    assert [method for method, _ in server.said] == ["POST", "POST"]


@pytest.mark.parametrize(
    ("header", "detail", "wait"),
    [
        ("1", "Request was throttled.", 1.0),
        (None, "Request was throttled. Expected available in 7 seconds.", 7.0),
        (None, "Your rate limit resets in ~30s.", 30.0),
        (None, "Slow down", None),
    ],
)
def test_the_wait_stands_in_a_header_or_in_the_words(
    header: str | None, detail: str, wait: float | None
) -> None:
    sent = {"retry-after": header} if header else {}
    error = decode_error(429, sent, json.dumps({"detail": detail}))
    assert isinstance(error, ProviderRateLimited)
    assert error.retry_after == wait


def test_title_and_detail_are_the_words() -> None:
    body = json.dumps({"title": "Insufficient credit", "detail": "Buy some", "status": 402})
    assert str(decode_error(402, {}, body)) == "HTTP 402: Insufficient credit: Buy some"
    assert isinstance(decode_error(529, {}, ""), ProviderOverloaded)


_odd = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["", "starting", "succeeded", API]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["status", "urls", "get", "stream", "output", "metrics", "error"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["status", "urls", "output", "metrics", "error"]), _odd, max_size=5))
def test_any_json_is_a_reply_a_further_step_or_a_provider_error(value: dict[str, Any]) -> None:
    try:
        found = list(decode_stream([json.dumps(value)]))
    except ProviderError:
        return
    assert found
    assert isinstance(found[-1], FollowUp) or type(found[-1]).__name__ == "Finish"
