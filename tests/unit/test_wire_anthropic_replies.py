"""Anthropic's wire: what is read of its streams, and its errors."""

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
    ProviderUnauthorized,
    StreamCut,
)
from parley.domain.messages import Usage
from parley.providers.wire.anthropic import decode_error, decode_stream
from tests.support.replies import collect
from tests.unit.anthropic_events import block, ends, part, read, stop


def test_counts_are_cumulative_and_cached_input_is_input() -> None:
    start = {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": 1}},
    }
    reply = read(start, ends(output_tokens=61))
    assert reply.finish is not None
    assert reply.finish.usage == Usage(input_tokens=110, output_tokens=61)


@pytest.mark.parametrize(
    ("reason", "with_call", "told"),
    [
        ("end_turn", False, "stop"),
        ("stop_sequence", False, "stop"),
        ("tool_use", True, "tool_calls"),
        ("end_turn", True, "tool_calls"),
        ("tool_use", False, "stop"),
        ("max_tokens", True, "length"),
        ("model_context_window_exceeded", False, "length"),
        ("pause_turn", False, "length"),
        ("refusal", False, "content_filter"),
        ("something_new", False, "stop"),
    ],
)
def test_the_reason_to_end_fits_what_came(reason: str, with_call: bool, told: str) -> None:
    calls = [block(0, "tool_use", id="t", name="f"), stop(0)] if with_call else []
    reply = read(*calls, ends(reason))
    assert reply.finish is not None
    assert reply.finish.reason == told


def test_arguments_that_come_with_the_start_are_taken_once() -> None:
    whole = block(0, "tool_use", id="t", name="f", input={"a": 1})
    assert read(whole, stop(0), ends("tool_use")).arguments == [{"a": 1}]
    both = read(whole, part(0, "input_json_delta", partial_json='{"a":1}'), stop(0), ends("tool_use"))
    assert both.arguments == [{"a": 1}]


def test_calls_that_the_provider_answers_itself_are_none_of_ours() -> None:
    theirs = block(0, "server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"})
    found = part(0, "input_json_delta", partial_json='{"query":"x"}')
    reply = read(theirs, found, stop(0), block(1, "text", text="Found."), stop(1), ends())
    assert (reply.text, reply.calls) == ("Found.", [])


def test_a_connection_that_breaks_behind_the_end_loses_nothing() -> None:
    def lines() -> Iterator[str]:
        for event in (block(0, "text", text="a"), stop(0), ends()):
            yield from (f"data: {json.dumps(event)}", "")
        raise StreamCut("the connection failed")

    assert collect(decode_stream(lines())).text == "a"


def test_an_end_without_a_reason_is_none() -> None:
    with pytest.raises(StreamCut):
        read(block(0, "text", text="a"), stop(0), {"type": "message_stop"})


def test_a_reply_that_was_not_streamed_is_understood() -> None:
    content = [
        {"type": "text", "text": "Hi"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
    ]
    whole = {"type": "message", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 3}}
    reply = collect(decode_stream(json.dumps(whole, indent=1).splitlines()))
    assert (reply.text, reply.arguments) == ("Hi", [{"a": 1}])


@pytest.mark.parametrize(
    ("kind", "error_class"),
    [
        ("overloaded_error", ProviderOverloaded),
        ("rate_limit_error", ProviderRateLimited),
        ("invalid_request_error", ProviderRejectedRequest),
        ("not_found_error", ProviderRejectedRequest),
        ("authentication_error", ProviderUnauthorized),
        ("billing_error", ProviderQuotaExceeded),
        ("api_error", StreamCut),
        ("timeout_error", StreamCut),
    ],
)
def test_an_error_after_http_200_is_the_error_that_it_names(
    kind: str, error_class: type[ProviderError]
) -> None:
    error = {"type": "error", "error": {"type": kind, "message": "Oh no"}, "request_id": "req_1"}
    with pytest.raises(error_class, match="Oh no") as raised:
        collect(decode_stream(["event: error", f"data: {json.dumps(error)}", ""]))
    assert type(raised.value) is error_class
    with pytest.raises(error_class):
        collect(decode_stream([json.dumps(error)]))


@pytest.mark.parametrize("body", ["", "null", "[1]", "<html>", '{"error": null}', '{"error": "x"}'])
def test_any_error_body_can_be_read(body: str) -> None:
    assert isinstance(decode_error(400, {}, body), ProviderRejectedRequest)


_names = st.sampled_from(
    ["type", "index", "content_block", "delta", "message", "usage", "error", "text", "id", "name", "input"]
)
_kinds = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "message",
        "error",
        "text",
        "tool_use",
        "thinking",
        "text_delta",
        "input_json_delta",
        "signature_delta",
    ]
)
_odd = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | _kinds,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(st.tuples(_kinds, st.dictionaries(_names, _odd, max_size=5)), max_size=6))
def test_any_json_in_a_stream_is_a_reply_or_a_provider_error(drawn: list[tuple[str, dict[str, Any]]]) -> None:
    try:
        reply = read(*({**event, "type": kind} for kind, event in drawn), ends())
    except ProviderError:
        return
    assert reply.finish is not None
    json.dumps(reply.finish.provider_data)
