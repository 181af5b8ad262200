"""OpenAI's chat completions: how replies and errors are read."""

import json
from collections.abc import Iterator
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
from parley.providers.wire.openai_chat import decode_error, decode_stream
from tests.support.replies import Reply, collect


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> str:
    return "data: " + json.dumps({"choices": [{"delta": delta or {}, "finish_reason": finish}], **more})


def calls(*deltas: dict[str, Any]) -> str:
    return chunk({"tool_calls": list(deltas)})


def part(arguments: Any = None, *, name: str | None = None, **more: Any) -> dict[str, Any]:
    function = {} if arguments is None else {"arguments": arguments}
    return {"function": function | ({"name": name} if name else {}), **more}


def read(*lines: str) -> Reply:
    return collect(decode_stream([text for line in lines for text in (line, "")]))


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            [
                calls(part('{"a":', name="f", id="1")),
                calls(part("1}", id="1")),
                calls(part('{"a":2}', name="f", id="2")),
            ],
            id="no index, the id changes",
        ),
        pytest.param(
            [
                calls(part('{"a":1}', name="f", id="1", index=0)),
                calls(part('{"a":2}', name="f", id="2", index=0)),
            ],
            id="one index for all, the id changes",
        ),
        pytest.param(
            [
                calls(part("", name="f", id="1", index=0)),
                calls(part("", name="f", id="2", index=1)),
                calls(part('{"a":', index=1, id=None), part('{"a":', index=0, id="")),
                calls(part("2}", index=1, id=None)),
                calls(part("1}", index=0, id="")),
            ],
            id="interleaved, ids null and empty",
        ),
        pytest.param(
            [
                calls(part('{"a":1}', name="f", id="", index=0)),
                calls(part('{"a":2}', name="f", id="", index=0)),
            ],
            id="whole calls, no ids, one index",
        ),
        pytest.param(
            [calls(part('{"a":1}', name="f"), part('{"a":2}', name="f"))], id="whole calls, nothing to tell"
        ),
        pytest.param(
            [
                calls(part("", name="f", id="x", index=0), part("", name="f", id="x", index=1)),
                calls(part('{"a":1}', id="x", index=0)),
                calls(part('{"a":2}', id="x", index=1)),
            ],
            id="one id for all, the index tells",
        ),
        pytest.param(
            [calls(part({"a": 1}, name="f", index=0)), calls(part({"a": 2}, name="f", index=1))],
            id="arguments as objects",
        ),
        pytest.param(
            [
                calls(part('{"a":', name="f", id="1", index=0)),
                calls(part("1", name="f", index=0)),
                calls(part("}", name="f", index=0)),
                calls(part('{"a":2}', name="f", id="2", index=1)),
            ],
            id="the name is said again and again",
        ),
        pytest.param(
            [
                calls(part('{"a":', index=0)),
                calls(part("1}", name="f", id="1", index=0)),
                calls(part('{"a":2}', name="f", id="2", index=1)),
            ],
            id="arguments before the name",
        ),
    ],
)
def test_two_calls_are_told_apart(lines: list[str]) -> None:
    reply = read(*lines, chunk(finish="tool_calls"))
    assert reply.names == ["f", "f"]
    assert reply.arguments == [{"a": 1}, {"a": 2}]


def test_a_call_that_never_got_a_name_is_a_broken_stream() -> None:
    with pytest.raises(StreamCut):
        read(calls(part("{}", index=0)), chunk(finish="tool_calls"))


def test_the_form_before_tool_calls_is_understood() -> None:
    reply = read(
        chunk({"function_call": {"name": "f", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"a":1}'}}),
        chunk(finish="function_call"),
    )
    assert reply.arguments == [{"a": 1}]
    assert reply.finish is not None
    assert reply.finish.reason == "tool_calls"


@pytest.mark.parametrize(
    ("finish", "with_call", "reason"),
    [
        ("stop", True, "tool_calls"),
        ("tool_calls", False, "stop"),
        ("length", True, "length"),
        ("eos", False, "stop"),
        ("something_new", False, "stop"),
    ],
)
def test_the_reason_to_end_fits_what_came(finish: str, with_call: bool, reason: str) -> None:
    lines = [calls(part("{}", name="f", id="1", index=0))] if with_call else [chunk({"content": "a"})]
    reply = read(*lines, chunk(finish=finish))
    assert reply.finish is not None
    assert reply.finish.reason == reason


def test_done_ends_a_stream_that_has_content_and_no_reason() -> None:
    assert read(chunk({"content": "a"}), "data: [DONE]").text == "a"
    with pytest.raises(StreamCut):
        read("data: [DONE]")


def test_a_connection_that_breaks_behind_the_end_loses_nothing() -> None:
    def lines() -> Iterator[str]:
        yield from (chunk({"content": "a"}, "stop"), "")
        raise StreamCut("the connection failed")

    assert collect(decode_stream(lines())).text == "a"


def test_a_server_that_does_not_stream_is_understood() -> None:
    whole = {
        "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3},
    }
    reply = collect(decode_stream(json.dumps(whole, indent=1).splitlines()))
    assert reply.text == "Hi"
    assert reply.finish is not None
    assert reply.finish.usage is not None
    assert reply.finish.usage.input_tokens == 3


def test_a_spoken_refusal_is_text_and_ends_as_one() -> None:
    reply = read(chunk({"refusal": "I can't."}), chunk(finish="stop"))
    assert (reply.text, reply.finish and reply.finish.reason) == ("I can't.", "content_filter")


@pytest.mark.parametrize(
    ("error", "error_class"),
    [
        ({"message": "slow down", "code": 429}, ProviderRateLimited),
        ({"message": "pay", "code": "insufficient_quota"}, ProviderQuotaExceeded),
        ({"message": "too long", "code": "context_length_exceeded"}, ProviderRejectedRequest),
        ({"message": "bad gateway", "code": 502}, StreamCut),
        ("plain words", StreamCut),
    ],
)
def test_an_error_inside_a_stream_is_never_a_success(error: Any, error_class: type[Exception]) -> None:
    with pytest.raises(error_class):
        read(chunk({"content": "a"}), "data: " + json.dumps({"error": error}))


def test_an_error_as_the_whole_body_of_a_success_is_an_error() -> None:
    with pytest.raises(StreamCut, match="no capacity"):
        read('{"error": {"message": "no capacity"}}')


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "2", "retry-after-ms": "1850"}, 1.85),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Sun, 30 Nov 2025 12:00:30 GMT", "date": "Sun, 30 Nov 2025 12:00:00 GMT"}, 30.0),
        ({"retry-after": "Sun, 30 Nov 2025 12:00:30 GMT"}, None),
    ],
)
def test_the_wait_that_a_provider_asks_for_is_read(headers: dict[str, str], wait: float | None) -> None:
    assert decode_error(429, headers, '{"error": {"message": "x"}}').retry_after == wait


@pytest.mark.parametrize("body", ["", "null", "[1]", "<html>", '{"error": null}', '{"detail": [{"a": 1}]}'])
def test_any_error_body_can_be_read(body: str) -> None:
    assert isinstance(decode_error(400, {}, body), ProviderRejectedRequest)


_names = st.sampled_from(
    [
        "choices",
        "delta",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "id",
        "index",
        "usage",
        "error",
        "content",
        "finish_reason",
        "prompt_tokens",
        "message",
        "code",
        "type",
        "function_call",
        "refusal",
    ]
)
_odd = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.sampled_from(["", "stop", "a", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(st.dictionaries(_names, _odd, max_size=4), max_size=4))
def test_any_json_in_a_stream_is_a_reply_or_a_provider_error(chunks: list[dict[str, Any]]) -> None:
    nested = [
        {"choices": [{"delta": chunk, "finish_reason": chunk.get("finish_reason")}]} for chunk in chunks
    ]
    for stream in (chunks, nested):
        try:
            reply = read(*(f"data: {json.dumps(chunk)}" for chunk in stream))
        except ProviderError:
            continue
        assert reply.finish is not None


@given(st.dictionaries(_names, _odd, max_size=4), st.integers(300, 599))
def test_any_error_answer_is_a_provider_error(body: dict[str, Any], status: int) -> None:
    error = decode_error(status, {"retry-after": str(body)}, json.dumps(body))
    assert str(error).startswith(f"HTTP {status}: ")
