"""The provider interface for programs: asked, configured, shown, many at once; no network."""

import base64
import json
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from parley.domain.errors import (
    ProviderError,
    ProviderNotConfigured,
    ProviderOverloaded,
    ProviderRejectedRequest,
    StreamCut,
)
from parley.domain.messages import Usage
from parley.prompts.prompt import ToolSpec
from parley.providers.client import ConversationMessage, PromptOptions, ProviderClient
from parley.turns.model_ports import Finish, ImageOptions, TextDelta

KEY = "sk-test-0123456789abcdef"
Handler = Callable[[dict[str, Any]], httpx.Response]


def said(text: str, *, finished: bool = True) -> httpx.Response:
    chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    usage = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    events = [chunk, last, usage] if finished else [chunk]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return httpx.Response(200, text=body + ("data: [DONE]\n\n" if finished else ""))


def client(
    answer: Handler = lambda body: said("Hello"), provider: str = "openai", **settings: Any
) -> ProviderClient:
    transport = httpx.MockTransport(lambda request: answer(json.loads(request.content)))
    made = ProviderClient(provider, transport=transport)
    made.configure({"api_key": KEY, "model": "gpt", **settings})
    return made


def recorded(asked: list[dict[str, Any]], text: str) -> Handler:
    def answer(body: dict[str, Any]) -> httpx.Response:
        asked.append(body)
        return said(text)

    return answer


def test_a_prompt_gets_its_reply() -> None:
    asked: list[dict[str, Any]] = []
    with client(recorded(asked, "Hello")) as openai:
        reply = openai.execute_prompt("Hi", PromptOptions(system="Be brief.", settings={"temperature": 0.5}))
    assert (reply.content, reply.finish_reason, reply.model) == ("Hello", "stop", "gpt")
    assert reply.usage == Usage(input_tokens=5, output_tokens=2)
    assert asked[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]
    assert asked[0]["temperature"] == 0.5


def test_configured_settings_go_along_until_they_are_taken_back() -> None:
    asked: list[dict[str, Any]] = []
    with client(recorded(asked, "Hello"), temperature=0.1) as openai:
        openai.execute_prompt("Hi")
        openai.configure({"temperature": None})
        openai.execute_prompt("Hi", PromptOptions(model="other"))
    assert [body.get("temperature") for body in asked] == [0.1, None]
    assert [body["model"] for body in asked] == ["gpt", "other"]


def test_a_conversation_keeps_its_roles_and_joins_results_to_calls() -> None:
    asked: list[dict[str, Any]] = []
    messages = [
        ConversationMessage(role="system", content="Be kind."),
        ConversationMessage(role="user", content="Look"),
        ConversationMessage(role="assistant", content='<tool_call name="look">{"at": 1}</tool_call>'),
        ConversationMessage(role="user", content="Seen", metadata={"is_tool_response": True}),
    ]
    with client(recorded(asked, "I saw it.")) as openai:
        assert openai.execute_conversation(messages).content == "I saw it."
    roles = [message["role"] for message in asked[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert asked[0]["messages"][0]["content"] == "You are a helpful assistant.\n\nBe kind."
    assert asked[0]["messages"][2]["tool_calls"][0]["function"]["name"] == "look"


def test_a_long_conversation_is_sent_whole() -> None:
    asked: list[dict[str, Any]] = []
    messages = [
        ConversationMessage(role=role, content=f"{role} {place}")
        for place in range(300)
        for role in ("user", "assistant")
    ]
    with client(recorded(asked, "Yes")) as openai:
        openai.execute_conversation([*messages, ConversationMessage(role="user", content="And?")])
    assert len(asked[0]["messages"]) == 602


@pytest.mark.parametrize("messages", [[], ["assistant"], ["user", "assistant"], ["system"]])
def test_a_conversation_that_nobody_waits_in_is_refused(messages: list[Any]) -> None:
    said_so_far = [ConversationMessage(role=role, content="Hi") for role in messages]
    with client() as openai, pytest.raises(ProviderRejectedRequest, match="last message"):
        openai.execute_conversation(said_so_far)


def test_offered_tools_may_be_called() -> None:
    call = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"at": 1}'}}
    events = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    ]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    with client(lambda _: httpx.Response(200, text=body)) as openai:
        reply = openai.execute_prompt("Look", PromptOptions(tools=(ToolSpec(name="look"),)))
    assert [(each.name, each.arguments) for each in reply.tool_calls] == [("look", {"at": 1})]
    assert reply.finish_reason == "tool_calls"


def test_many_prompts_keep_their_order_and_one_that_fails_loses_no_other() -> None:
    def answer(body: dict[str, Any]) -> httpx.Response:
        asked = body["messages"][-1]["content"]
        if asked == "2":
            return httpx.Response(503, json={"error": {"message": "The engine is overloaded"}})
        return said(f"Reply to {asked}", finished=asked != "4")

    with client(answer) as openai:
        replies = openai.execute_prompts([str(number) for number in range(6)], at_once=3)
    shown = [type(reply) if isinstance(reply, ProviderError) else reply.content for reply in replies]
    assert shown[0::2] == ["Reply to 0", type(replies[2]), StreamCut]
    assert isinstance(replies[2], ProviderError)
    assert shown[1::2] == ["Reply to 1", "Reply to 3", "Reply to 5"]


def test_a_prompt_that_cannot_be_asked_loses_no_other() -> None:
    with client(lambda body: said(f"Reply to {body['messages'][-1]['content']}")) as openai:
        first, empty, last = openai.execute_prompts(["1", "", "3"])
    assert isinstance(empty, ProviderRejectedRequest)
    assert [reply.content for reply in (first, last) if not isinstance(reply, ProviderError)] == [
        "Reply to 1",
        "Reply to 3",
    ]


def test_no_more_prompts_are_asked_at_once_than_wanted() -> None:
    lock = threading.Lock()
    both = threading.Barrier(2, timeout=120)
    running = most = 0

    def answer(body: dict[str, Any]) -> httpx.Response:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait()
        with lock:
            running -= 1
        return said("Hello")

    with client(answer) as openai:
        assert len(openai.execute_prompts(["Hi"] * 8, at_once=2)) == 8
        assert openai.execute_prompts([]) == []
        with pytest.raises(ValueError, match="at_once"):
            openai.execute_prompts(["Hi"], at_once=0)
    assert most == 2


def test_a_stream_comes_as_it_is_said() -> None:
    with client() as openai:
        deltas = list(openai.stream("Hi"))
    assert deltas[0] == TextDelta("Hello")
    assert isinstance(deltas[-1], Finish)


def test_a_provider_that_does_not_converse_is_sent_one_text() -> None:
    asked: list[dict[str, Any]] = []
    line = json.dumps({"response": "Hello", "done": True, "done_reason": "stop"})

    def answer(body: dict[str, Any]) -> httpx.Response:
        asked.append(body)
        return httpx.Response(200, text=line + "\n")

    with client(answer, "ollama") as ollama:
        assert not ollama.supports_conversation()
        reply = ollama.execute_conversation(
            [
                ConversationMessage(role="user", content="Hi"),
                ConversationMessage(role="assistant", content="Hello"),
                ConversationMessage(role="user", content="And?"),
            ]
        )
    assert reply.content == "Hello"
    assert asked[0]["prompt"].endswith("Human: Hi\n\nAssistant: Hello\n\nHuman: And?\n\nAssistant:")


def test_what_an_option_overrides_counts_for_the_capabilities_too() -> None:
    with client(provider="ollama") as ollama:
        options = PromptOptions(capabilities={"supports_tool_calls": True})
        assert ollama.get_capabilities(options).supports_conversation


@pytest.mark.parametrize(
    ("provider", "setting"),
    [("openai", "OPENAI_API_KEY"), ("anthropic", "ANTHROPIC_API_KEY"), ("bedrock", "BEDROCK_REGION")],
)
def test_what_is_missing_is_named(provider: str, setting: str) -> None:
    with ProviderClient(provider) as unset:
        unset.configure({"model": "m"})
        assert not unset.is_configured()
        for ask in (unset.execute_prompt, lambda text: unset.execute_prompts([text]), unset.stream):
            with pytest.raises(ProviderNotConfigured, match=setting):
                ask("Hi")


def test_a_missing_model_is_named_too() -> None:
    with client(model=None) as openai, pytest.raises(ProviderNotConfigured, match="model"):
        openai.execute_prompt("Hi")


def test_a_provider_that_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(ProviderNotConfigured, match="anthropic"):
        ProviderClient("nobody")


def test_settings_are_looked_up_behind_what_was_configured() -> None:
    class Environment:
        def get(self, name: str) -> str | None:
            return {"GROQ_API_KEY": KEY, "GROQ_BASE_URL": "https://a.example"}.get(name)

    with ProviderClient("groq", Environment()) as groq:
        assert groq.is_configured()
        groq.configure({"api_key": "", "base_url": ""})
        assert not groq.is_configured()
        groq.configure({"api_key": None})
        assert groq.is_configured()


def test_no_secret_is_shown() -> None:
    shown: dict[str, Any]
    with client(
        base_url="https://ann:secret@proxy.example/v1?token=abc",
        OPENAI_ORG_ID="org-1",
        temperature=0.5,
        my_token="short",
    ) as openai:
        shown = openai.get_config()
    assert shown == {
        "provider": "openai",
        "model": "gpt",
        "temperature": 0.5,
        "my_token": "…",
        "OPENAI_API_KEY": "…cdef",
        "OPENAI_BASE_URL": "https://…@proxy.example/v1?…",
        "OPENAI_ORG_ID": "org-1",
    }
    assert KEY not in json.dumps(shown)


def test_a_short_name_that_means_nothing_here_is_refused() -> None:
    with ProviderClient("scripted") as scripted, pytest.raises(ProviderNotConfigured, match="api_key"):
        scripted.configure({"api_key": KEY})


def test_the_scripted_provider_needs_nothing() -> None:
    with ProviderClient("scripted") as scripted:
        assert scripted.execute_prompt("Hello").content == 'You said: "Hello". How can I help?'
        assert scripted.get_config() == {"provider": "scripted", "model": "demo"}


def test_an_image_is_made_where_the_provider_can() -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"0" * 16
    encoded = base64.b64encode(png).decode()
    with client(lambda _: httpx.Response(200, json={"data": [{"b64_json": encoded}]})) as openai:
        image = openai.imagine("A cat", ImageOptions(model="gpt-image-1"))
    assert (image.data, image.media_type) == (png, "image/png")
    with client(provider="groq") as groq, pytest.raises(ProviderNotConfigured, match="openai"):
        groq.imagine("A cat", ImageOptions(model="m"))


def test_an_overloaded_provider_is_told_as_such() -> None:
    answer = httpx.Response(529, json={"error": {"type": "overloaded_error", "message": "Overloaded"}})
    with client(lambda _: answer, "anthropic") as anthropic, pytest.raises(ProviderOverloaded):
        anthropic.execute_prompt("Hi")


def test_the_providers_words_in_an_error_are_whole_characters() -> None:
    answer = httpx.Response(400, content=b'{"error": {"message": "no \\ud83d here"}}')
    with client(lambda _: answer) as openai, pytest.raises(ProviderRejectedRequest) as refused:
        openai.execute_prompt("Hi")
    assert str(refused.value) == "openai: HTTP 400: no \ufffd here"
