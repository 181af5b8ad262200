"""Gemini's wire: what is read of its streams, and its errors."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.errors import (
    ProviderError,
    ProviderQuotaExceeded,
    ProviderRateLimited,
    ProviderRejectedRequest,
    ProviderUnauthorized,
    StreamCut,
)
from parley.providers.wire.gemini import decode_error, decode_stream
from tests.support.replies import Reply, collect
from tests.unit.gemini_events import part, read

FIXTURES = Path(__file__).parents[1] / "providers" / "fixtures" / "gemini"


def read_fixture(name: str) -> Reply:
    return collect(decode_stream((FIXTURES / name).read_text().split("\n")))


def test_thoughts_are_no_text_and_are_counted_as_output() -> None:
    reply = read_fixture("tool_call.sse")
    assert (reply.text, reply.names, reply.arguments) == ("", ["get_weather"], [{"city": "Paris"}])
    assert reply.finish is not None
    assert reply.finish.reason == "tool_calls"
    assert reply.finish.usage is not None
    assert (reply.finish.usage.input_tokens, reply.finish.usage.output_tokens) == (60, 22)


def test_a_calls_signature_is_in_its_metadata() -> None:
    deltas = list(decode_stream((FIXTURES / "tool_call.sse").read_text().split("\n")))
    assert getattr(deltas[0], "metadata", None) == {"thought_signature": "RXhhbXBsZVNpZw=="}
    assert getattr(deltas[0], "provider_call_id", None) == "fc-1"


@pytest.mark.parametrize("name", ["safety_stop.sse", "prompt_blocked.sse"])
def test_what_is_blocked_is_a_refusal(name: str) -> None:
    reply = read_fixture(name)
    assert (reply.text, reply.finish and reply.finish.reason) == ("", "content_filter")


def test_an_error_behind_the_events_is_an_error() -> None:
    with pytest.raises(StreamCut, match="overloaded"):
        read_fixture("error_behind_the_events.sse")


def test_a_body_that_is_no_stream_is_understood() -> None:
    body = json.dumps(part({"text": "Hi"}, finish="STOP"), indent=1)
    assert collect(decode_stream(body.split("\n"))).text == "Hi"
    assert collect(decode_stream(f"[{body}]".split("\n"))).text == "Hi"


@pytest.mark.parametrize("finish", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"])
def test_a_call_that_google_could_not_read_is_asked_for_again(finish: str) -> None:
    with pytest.raises(StreamCut, match=finish):
        read(part(finish=finish))


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("RECITATION", "content_filter"), ("MAX_TOKENS", "length"), ("OTHER", "stop"), ("NEW_ONE", "stop")],
)
def test_the_reason_to_end_is_mapped(finish: str, reason: str) -> None:
    reply = read(part({"text": "a"}, finish=finish))
    assert reply.finish is not None
    assert reply.finish.reason == reason


def test_a_connection_that_breaks_behind_the_end_loses_nothing() -> None:
    def lines() -> Any:
        yield from (f"data: {json.dumps(part({'text': 'a'}, finish='STOP'))}", "")
        raise StreamCut("the connection failed")

    assert collect(decode_stream(lines())).text == "a"


def error(code: int, **fields: Any) -> str:
    return json.dumps({"error": {"code": code, "message": "no", **fields}})


def test_the_wait_is_in_the_details() -> None:
    waiting = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    raised = decode_error(429, {}, error(429, details=[waiting]))
    assert isinstance(raised, ProviderRateLimited)
    assert raised.retry_after == 34.5
    assert decode_error(429, {"retry-after": "2"}, error(429, details=[waiting])).retry_after == 2
    assert decode_error(429, {}, error(429, details=[{"retryDelay": "soon"}])).retry_after is None


@pytest.mark.parametrize(
    ("status", "details", "error_class"),
    [
        (429, [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}], ProviderQuotaExceeded),
        (429, [{"violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]}], ProviderRateLimited),
        (400, [{"reason": "API_KEY_INVALID"}], ProviderUnauthorized),
        (403, [], ProviderUnauthorized),
        (404, [], ProviderRejectedRequest),
    ],
)
def test_details_tell_errors_apart(status: int, details: Any, error_class: type[ProviderError]) -> None:
    assert type(decode_error(status, {}, error(status, details=details))) is error_class


@pytest.mark.parametrize("body", ["", "null", "[1]", "<html>", '{"error": null}', '{"error": "no"}', "[]"])
def test_any_error_body_can_be_read(body: str) -> None:
    assert isinstance(decode_error(400, {}, body), ProviderRejectedRequest)


_names = st.sampled_from(
    [
        "candidates",
        "content",
        "parts",
        "text",
        "functionCall",
        "name",
        "args",
        "id",
        "thoughtSignature",
        "finishReason",
        "promptFeedback",
        "blockReason",
        "usageMetadata",
        "promptTokenCount",
        "error",
        "code",
        "message",
        "details",
        "index",
    ]
)
_odd = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.sampled_from(["", "STOP", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(st.dictionaries(_names, _odd, max_size=4), max_size=4))
def test_any_json_in_a_stream_is_a_reply_or_a_provider_error(responses: list[dict[str, Any]]) -> None:
    nested = [
        {"candidates": [{"content": {"parts": [each]}, "finishReason": each.get("finishReason")}]}
        for each in responses
    ]
    for stream in (responses, nested):
        try:
            assert read(*stream).finish is not None
        except ProviderError:
            continue


@given(st.dictionaries(_names, _odd, max_size=4), st.integers(300, 599))
def test_any_error_answer_is_a_provider_error(body: dict[str, Any], status: int) -> None:
    assert isinstance(decode_error(status, {}, json.dumps(body)), ProviderError)
    assert isinstance(decode_error(status, {}, json.dumps({"error": body})), ProviderError)
