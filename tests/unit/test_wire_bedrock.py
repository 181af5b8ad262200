"""Bedrock's wire: what boto3 is asked, whatever the history, and what its events and errors mean."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from parley.domain.agents import Agent, AgentFunction, Capabilities, ClassFunction
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
from parley.domain.messages import Message, ToolCall, Usage
from parley.prompts.build import build_prompt
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.bedrock import BedrockProvider
from parley.providers.http import TimeLimits
from parley.providers.registry import ProviderRegistry
from parley.providers.wire import bedrock_images
from parley.providers.wire.bedrock_converse import decode_error, decode_events, encode
from parley.turns.model_ports import ImageOptions
from tests.support.replies import Reply, collect
from tests.support.stored_histories import MODELS, stored_histories
from tests.support.wire_rules_bedrock import check

TOOL = ToolSpec(name="get_weather")
THINKING = {"type": "enabled", "budget_tokens": 2000}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "EqQB"}}}
LOOK = AgentFunction(name="look", description="Looks.", implementation=ClassFunction(class_name="look"))


def user(text: str = "Hi") -> PromptMessage:
    return PromptMessage(role="user", content=text)


def called(*ids: str, content: str = "", **more: Any) -> PromptMessage:
    calls = tuple(ToolCall(tool_call_id=call_id, name="get_weather") for call_id in ids)
    return PromptMessage(role="assistant", content=content, tool_calls=calls, **more)


def result(call_id: str, content: str = "18", **more: Any) -> PromptMessage:
    return PromptMessage(role="tool", content=content, tool_call_id=call_id, name="get_weather", **more)


def prompt(*messages: PromptMessage, **changes: Any) -> Prompt:
    values = {"provider": "bedrock", "model": "m", "messages": messages or (user(),), "tools": (TOOL,)}
    return Prompt(**(values | changes))


def sent(*messages: PromptMessage, **changes: Any) -> list[dict[str, Any]]:
    request = encode(prompt(*messages, **changes))
    check(request)
    return request["messages"]


def part(index: int, **content: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": content}}


def begin(index: int, **call: Any) -> dict[str, Any]:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": call}}}


def stop(index: int) -> dict[str, Any]:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def ends(reason: str = "end_turn") -> dict[str, Any]:
    return {"messageStop": {"stopReason": reason}}


def read(*events: dict[str, Any]) -> Reply:
    return collect(decode_events(events))


@examples(max_examples=200)
@given(
    history=stored_histories(mostly="bedrock"),
    model=st.sampled_from(MODELS),
    final=st.booleans(),
    overrides=st.sampled_from(
        [{}, *({name: False} for name in Capabilities.model_fields if name.startswith("supports"))]
    ),
    settings=st.sampled_from(
        [
            {},
            *[{"thinking": THINKING}] * 2,
            {"tool_choice": "required", "stop": "END"},
            {"tool_choice": "none"},
        ]
    ),
)
def test_any_stored_history_becomes_a_request_that_is_accepted(
    history: list[Message], model: str, overrides: dict[str, Any], settings: dict[str, Any], *, final: bool
) -> None:
    agent = Agent(
        agent_id="a",
        name="A",
        provider="bedrock",
        model=model,
        settings=settings,
        capabilities=overrides,
        functions=(LOOK,),
    )
    made = build_prompt(agent, Capabilities(), history, final=final)
    request = encode(made)
    check(request)
    assert encode(made) == request


def test_results_share_a_turn_and_text_has_another() -> None:
    messages = sent(user(), called("c1", "c2"), result("c1"), result("c2", "No", ok=False), user("Go"))
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    results = [block["toolResult"] for block in messages[2]["content"]]
    assert [(each["toolUseId"], each["status"]) for each in results] == [("c1", "success"), ("c2", "error")]
    assert messages[4]["content"] == [{"text": "Go"}]


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": ()},
        {"settings": {"tool_choice": "none"}},
        {"capabilities": Capabilities(supports_tool_calls=False)},
    ],
)
def test_where_nothing_may_be_called_earlier_calls_are_text(changes: dict[str, Any]) -> None:
    request = encode(prompt(user(), called("c1"), result("c1"), **changes))
    check(request)
    assert "toolConfig" not in request
    assert "<tool_call" in request["messages"][1]["content"][0]["text"]
    assert "<tool_response" in request["messages"][2]["content"][0]["text"]


def test_settings_have_the_names_that_the_api_gives_them() -> None:
    settings = {
        "max_tokens": 5,
        "temperature": 0.5,
        "top_p": None,
        "stop": ["END", ""],
        "seed": 1,
        "extra_body": {"top_k": 3},
        "thinking": {"type": "adaptive"},
        "guardrail_config": {"guardrailIdentifier": "g", "guardrailVersion": "1"},
    }
    request = encode(prompt(settings=settings))
    check(request)
    assert request["inferenceConfig"] == {"maxTokens": 5, "temperature": 0.5, "stopSequences": ["END"]}
    assert request["additionalModelRequestFields"] == {"top_k": 3, "thinking": {"type": "adaptive"}}
    assert request["guardrailConfig"]["guardrailIdentifier"] == "g"
    assert {*encode(prompt(tools=()))} == {"modelId", "messages"}
    as_text = encode(prompt(tools=(), text="System: …", settings={"stop": "END"}))
    assert as_text["inferenceConfig"]["stopSequences"][:2] == ["END", "\nHuman:"]


@pytest.mark.parametrize(
    ("setting", "choice"),
    [
        ("auto", {"auto": {}}),
        ("required", {"any": {}}),
        ({"any": {}}, {"any": {}}),
        ({"tool": {"name": "f"}}, {"tool": {"name": "f"}}),
        ({"type": "function", "function": {"name": "f"}}, {"tool": {"name": "f"}}),
        (None, None),
    ],
)
def test_a_tool_choice_of_any_form_is_understood(setting: Any, choice: Any) -> None:
    assert encode(prompt(settings={"tool_choice": setting}))["toolConfig"].get("toolChoice") == choice


def test_thoughts_come_back_in_their_places_and_can_be_stored_as_json() -> None:
    reply = read(
        part(0, reasoningContent={"text": "Hm."}),
        part(0, reasoningContent={"signature": "EqQB"}),
        stop(0),
        part(1, text="One."),
        stop(1),
        part(2, reasoningContent={"redactedContent": b"\x00\xff"}),
        stop(2),
        begin(3, toolUseId="t1", name="f"),
        stop(3),
        ends("tool_use"),
    )
    assert reply.finish is not None
    data = json.loads(json.dumps(reply.finish.provider_data))
    message = called("c1", content="One.", provider="bedrock", provider_data=data)
    assistant = sent(user(), message, result("c1"), settings={"thinking": THINKING})[1]["content"]
    redacted = {"reasoningContent": {"redactedContent": b"\x00\xff"}}
    assert assistant[:3] == [THOUGHT, {"text": "One."}, redacted]


def test_what_another_wire_kept_under_the_same_name_is_left_out() -> None:
    data = {"blocks": [{"kept": {"type": "thinking", "thinking": "Hm."}}, {"call": True}]}
    message = called("c1", provider="bedrock", provider_data=data)
    assert [*map(list, sent(user(), message, result("c1"))[1]["content"])] == [["toolUse"]]


def test_thoughts_without_a_signature_are_not_kept() -> None:
    reply = read(part(0, reasoningContent={"text": "Hm."}), stop(0), part(1, text="Hi"), stop(1), ends())
    assert reply.finish is not None
    assert reply.finish.provider_data == {}


def test_thinking_waits_while_calls_are_answered_that_began_without_a_thought() -> None:
    request = encode(prompt(user(), called("c1"), result("c1"), settings={"thinking": THINKING}))
    assert "additionalModelRequestFields" not in request


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
