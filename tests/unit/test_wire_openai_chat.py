"""OpenAI's chat wire: what is encoded."""

from typing import Any

import pytest

from parley.domain.agents import Capabilities
from parley.domain.messages import ToolCall
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.wire.openai_chat import encode

TOOL = ToolSpec(name="get_weather")


def prompt(**changes: Any) -> Prompt:
    values: dict[str, Any] = {
        "provider": "openai",
        "model": "m",
        "system": "Be brief.",
        "messages": (PromptMessage(role="user", content="Hi"),),
    }
    return Prompt(**(values | changes))


def test_settings_are_sent_only_if_they_are_set() -> None:
    body = encode(prompt(settings={"temperature": 0.5, "top_p": None, "script": [], "delay": 1}))
    assert {*body} == {"model", "stream", "stream_options", "messages", "temperature"}


def test_settings_about_tools_are_not_sent_without_tools() -> None:
    settings = {"tool_choice": "auto", "parallel_tool_calls": False}
    assert "tool_choice" not in encode(prompt(settings=settings))
    assert encode(prompt(settings=settings, tools=(TOOL,)))["parallel_tool_calls"] is False


def test_extra_fields_are_merged_in() -> None:
    assert encode(prompt(settings={"extra_body": {"top_k": 5}}))["top_k"] == 5


def test_without_system_messages_the_first_user_message_begins_with_the_instructions() -> None:
    abilities = Capabilities(supports_system_messages=False)
    assert encode(prompt(capabilities=abilities))["messages"] == [
        {"role": "user", "content": "Be brief.\n\nHi"}
    ]


def test_without_conversation_the_text_is_one_message() -> None:
    assert encode(prompt(text="System: …"))["messages"] == [{"role": "user", "content": "System: …"}]


def test_tools_are_not_offered_where_there_are_no_native_calls() -> None:
    abilities = Capabilities(supports_tool_calls=False)
    assert "tools" not in encode(prompt(capabilities=abilities, tools=(TOOL,)))


def test_a_tool_without_parameters_gets_an_empty_schema() -> None:
    function = encode(prompt(tools=(TOOL,)))["tools"][0]["function"]
    assert function == {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("name", "sent"), [("functions.get:0", "functions_get_0"), ("", "unnamed"), ("é", "_")]
)
def test_names_that_the_wire_refuses_are_mapped(name: str, sent: str) -> None:
    call = ToolCall(tool_call_id="call_1", name=name)
    asked = PromptMessage(role="user", content="Hi")
    message = encode(prompt(messages=(asked, PromptMessage(role="assistant", tool_calls=(call,)))))[
        "messages"
    ][2]
    assert message["tool_calls"][0]["function"]["name"] == sent
    assert message["content"] is None
