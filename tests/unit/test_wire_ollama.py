"""Ollama's two wires: which settings go where, and odd streams."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from parley.domain.agents import Capabilities
from parley.domain.errors import ProviderOverloaded, ProviderRejectedRequest, StreamCut
from parley.domain.messages import ToolCall, Usage
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.endpoints import endpoints
from parley.providers.registry import ProviderRegistry
from parley.providers.wire import ollama_chat, ollama_generate
from tests.support.replies import collect

FIXTURES = Path(__file__).parents[1] / "providers" / "fixtures"
ONE_TEXT = Capabilities(supports_conversation=False)


def prompt(**changes: Any) -> Prompt:
    values: dict[str, Any] = {
        "provider": "ollama",
        "model": "llama3.2",
        "system": "Be brief.",
        "messages": (PromptMessage(role="user", content="Hi"),),
    }
    return Prompt(**(values | changes))


def test_options_and_the_fields_beside_them() -> None:
    settings = {
        "temperature": 0,
        "max_tokens": 64,
        "keep_alive": "5m",
        "think": False,
        "format": "json",
        "options": {"mirostat": 1},
        "extra_body": {"truncate": True},
        "script": [],
        "stop": "END",
    }
    body = ollama_chat.encode(prompt(settings=settings))
    assert body["options"] == {"temperature": 0, "num_predict": 64, "mirostat": 1, "stop": ["END"]}
    more = {key: body[key] for key in ("keep_alive", "think", "format", "truncate")}
    assert more == {"keep_alive": "5m", "think": False, "format": "json", "truncate": True}
    assert "script" not in body
    assert "options" not in ollama_chat.encode(prompt())


def test_the_context_is_as_long_as_the_prompt_may_be() -> None:
    abilities = Capabilities(supports_conversation=False, max_context_length=16_384)
    body = ollama_generate.encode(prompt(capabilities=abilities))
    assert body["options"]["num_ctx"] == 16_384
    own = ollama_generate.encode(prompt(capabilities=abilities, settings={"num_ctx": 8_192}))
    assert own["options"]["num_ctx"] == 8_192


def test_a_call_and_its_result_name_the_function_and_have_no_ids() -> None:
    call = ToolCall(tool_call_id="call_1", name="get_weather", arguments={"city": "Paris"})
    result = PromptMessage(role="tool", content="18", tool_call_id="call_1", name="get_weather")
    asked = PromptMessage(role="user", content="Weather?")
    messages = (asked, PromptMessage(role="assistant", tool_calls=(call,)), result)
    assert ollama_chat.encode(prompt(system="", messages=messages))["messages"][1:] == [
        {
            "role": "assistant",
            "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}],
        },
        {"role": "tool", "content": "18", "tool_name": "get_weather"},
    ]


def test_tools_are_offered_where_calls_are_native() -> None:
    tools = (ToolSpec(name="f"),)
    offered = ollama_chat.encode(prompt(tools=tools))["tools"][0]["function"]
    assert offered == {"name": "f", "parameters": {"type": "object", "properties": {}}}
    none = Capabilities(supports_tool_calls=False)
    assert "tools" not in ollama_chat.encode(prompt(tools=tools, capabilities=none))


def test_what_a_model_thinks_is_left_out_and_its_call_is_read() -> None:
    lines = (FIXTURES / "ollama_chat" / "tool_call.ndjson").read_text().splitlines()
    reply = collect(ollama_chat.decode_stream(lines))
    assert reply.text == ""
    assert reply.calls == [["get_weather", "call_x1", '{"city": "Paris"}']]
    assert reply.finish is not None
    assert (reply.finish.reason, reply.finish.usage) == (
        "tool_calls",
        Usage(input_tokens=120, output_tokens=20),
    )


@pytest.mark.parametrize(
    ("arguments", "read"), [({"a": 1}, {"a": 1}), ('{"a": 1}', {"a": 1}), (None, {}), ({}, {}), ("", {})]
)
def test_arguments_come_as_an_object_or_as_text(arguments: Any, read: Any) -> None:
    message = {"tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}
    reply = collect(ollama_chat.decode_stream([json.dumps({"message": message, "done": True})]))
    assert reply.arguments == [read]


@pytest.mark.parametrize("call", [{}, {"function": None}, {"function": {"name": ""}}, "f"])
def test_a_call_without_a_name_is_a_broken_stream(call: Any) -> None:
    with pytest.raises(StreamCut):
        collect(ollama_chat.decode_stream([json.dumps({"message": {"tool_calls": [call]}, "done": True})]))


def test_a_busy_server_is_overloaded_and_a_missing_model_is_no_retry() -> None:
    busy = '{"error": "server busy, please try again.  maximum pending requests exceeded"}'
    assert isinstance(ollama_chat.decode_error(503, {}, busy), ProviderOverloaded)
    missing = ollama_generate.decode_error(404, {}, '{"error": "model \'nope\' not found"}')
    assert isinstance(missing, ProviderRejectedRequest)
    assert "model 'nope' not found" in str(missing)


@pytest.mark.parametrize(
    ("capabilities", "sent_to"),
    [
        ({}, "/api/generate"),
        ({"supports_conversation": True}, "/api/chat"),
        ({"supports_conversation": True, "supports_tool_calls": True}, "/api/chat"),
    ],
)
def test_an_agents_capabilities_choose_the_wire(capabilities: dict[str, bool], sent_to: str) -> None:
    requests: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=b'{"done": true}\n')

    class NoSettings:
        def get(self, name: str) -> None:
            return None

    row = next(row for row in endpoints() if row.name == "ollama")
    registry = ProviderRegistry(NoSettings(), transport=httpx.MockTransport(handler))
    assert registry.get("ollama").is_configured()
    collect(registry.get("ollama").stream(prompt(capabilities=row.capabilities.but(**capabilities))))
    assert str(requests[0].url) == f"http://127.0.0.1:11434{sent_to}"
