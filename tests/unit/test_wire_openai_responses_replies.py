"""OpenAI's Responses wire: what is read of its streams, and its errors."""

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
    StreamCut,
)
from parley.providers.wire.openai_responses import decode_stream
from tests.support.replies import Reply, collect
from tests.unit.responses_events import REASONING, done, end, event, read, text

FIXTURES = Path(__file__).parents[1] / "providers" / "fixtures" / "openai_responses"


def read_fixture(name: str) -> Reply:
    return collect(decode_stream((FIXTURES / name).read_text().split("\n")))


def test_reasoning_and_call_are_read() -> None:
    reply = read_fixture("reasoning_and_call.sse")
    assert reply.calls == [["get_weather", "call_Paris1", '{"city":"Paris"}']]
    assert reply.finish is not None
    assert reply.finish.reason == "tool_calls"
    kept = {**REASONING, "encrypted_content": "gAAAAAexample"}
    assert reply.finish.provider_data == {"blocks": [{"kept": kept}, {"call": True}]}
    assert reply.finish.usage is not None
    assert (reply.finish.usage.input_tokens, reply.finish.usage.output_tokens) == (60, 30)


def test_reasoning_that_is_not_encrypted_is_of_no_use_later() -> None:
    reply = read(done(0, type="reasoning", id="rs_1", summary=[]), text(1, "Hi"), end())
    assert reply.finish is not None
    assert reply.finish.provider_data == {}


def test_a_reply_cut_at_the_limit_says_so() -> None:
    reply = read_fixture("incomplete.sse")
    assert (reply.text, reply.finish and reply.finish.reason) == ("", "length")


def test_a_refusal_is_text_and_ends_as_one() -> None:
    reply = read(event("response.refusal.delta", output_index=0, delta="I can't."), end())
    assert (reply.text, reply.finish and reply.finish.reason) == ("I can't.", "content_filter")


@pytest.mark.parametrize(
    ("name", "error_class"), [("failed.sse", StreamCut), ("error_event.sse", ProviderRateLimited)]
)
def test_a_failure_in_the_stream_is_an_error(name: str, error_class: type[ProviderError]) -> None:
    with pytest.raises(error_class):
        read_fixture(name)


@pytest.mark.parametrize(
    ("error", "error_class"),
    [
        ({"code": "insufficient_quota", "message": "pay"}, ProviderQuotaExceeded),
        ({"code": "invalid_prompt", "message": "no"}, ProviderRejectedRequest),
        ({"code": "server_error", "message": "oh"}, StreamCut),
        (None, StreamCut),
    ],
)
def test_what_failed_decides_whether_to_try_again(error: Any, error_class: type[ProviderError]) -> None:
    for line in (end("failed", error=error), event("error", error=error), event("error", **(error or {}))):
        with pytest.raises(error_class):
            read(text(0, "Hi"), line)


def test_items_that_were_not_streamed_come_with_their_end() -> None:
    reply = read(
        done(0, type="message", content=[{"type": "output_text", "text": "Hi"}]),
        done(1, type="function_call", name="f", call_id="c", arguments='{"a":1}'),
        end(),
    )
    assert (reply.text, reply.arguments) == ("Hi", [{"a": 1}])


def test_a_server_that_does_not_stream_is_understood() -> None:
    output = [
        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "name": "f", "call_id": "c", "arguments": "{}"},
    ]
    whole = {"object": "response", "status": "completed", "output": output, "error": None}
    reply = collect(decode_stream(json.dumps(whole, indent=1).split("\n")))
    assert (reply.text, reply.names) == ("Hi", ["f"])
    with pytest.raises(StreamCut, match="no capacity"):
        collect(decode_stream(['{"error": {"message": "no capacity"}}']))
    with pytest.raises(StreamCut):
        collect(decode_stream([json.dumps({**whole, "status": "in_progress"})]))


def test_the_kind_of_an_event_may_stand_on_its_own_line() -> None:
    lines = ["event: response.output_text.delta", 'data: {"delta": "Hi"}', "", end(), ""]
    assert collect(decode_stream(lines)).text == "Hi"


_names = st.sampled_from(
    [
        "type",
        "item",
        "delta",
        "output_index",
        "response",
        "status",
        "output",
        "name",
        "call_id",
        "arguments",
        "content",
        "text",
        "phase",
        "encrypted_content",
        "incomplete_details",
        "reason",
        "usage",
        "input_tokens",
        "error",
        "code",
        "message",
    ]
)
_kinds = st.sampled_from(
    [
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "error",
        "message",
        "function_call",
        "reasoning",
        "completed",
    ]
)
_odd = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.sampled_from(["", "a", "{}"]) | _kinds,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(st.tuples(_kinds, st.dictionaries(_names, _odd, max_size=5)), max_size=5))
def test_any_json_in_a_stream_is_a_reply_or_a_provider_error(
    events: list[tuple[str, dict[str, Any]]],
) -> None:
    try:
        reply = read(*("data: " + json.dumps(fields | {"type": kind}) for kind, fields in events))
    except ProviderError:
        return
    assert reply.finish is not None
