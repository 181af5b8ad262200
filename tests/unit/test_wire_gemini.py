"""Google's Gemini wire: what is encoded, and what comes back to it."""

from typing import Any

import pytest

from parley.domain.agents import Capabilities
from parley.domain.messages import ToolCall
from parley.prompts.prompt import Prompt, PromptMessage, ToolSpec
from parley.providers.wire.gemini import UNSIGNED, encode, path
from tests.support.wire_rules_gemini import check
from tests.unit.gemini_events import part, read

GEMINI = Capabilities(supports_system_messages=False, custom_format="gemini")
TOOL = ToolSpec(name="get_weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})


def prompt(*messages: PromptMessage, **changes: Any) -> Prompt:
    values: dict[str, Any] = {
        "provider": "google",
        "model": "gemini-x",
        "capabilities": GEMINI,
        "system": "Be brief.",
        "messages": messages or (PromptMessage(role="user", content="Hi"),),
    }
    return Prompt(**(values | changes))


def body_of(prompt: Prompt) -> dict[str, Any]:
    body = encode(prompt)
    check(body)
    return body


def called(*calls: ToolCall, content: str = "", **more: Any) -> PromptMessage:
    more = {"provider": "google", "model": "gemini-x", **more}
    return PromptMessage(role="assistant", content=content, tool_calls=calls, **more)


def call(number: int, *, signature: str | None = None, **more: Any) -> ToolCall:
    metadata = {"thought_signature": signature} if signature else {}
    return ToolCall(tool_call_id=f"call_{number}", name="get_weather", metadata=metadata, **more)


def result(number: int, content: str = "sunny", *, ok: bool = True) -> PromptMessage:
    return PromptMessage(
        role="tool", content=content, tool_call_id=f"call_{number}", name="get_weather", ok=ok
    )


def said(text: str) -> PromptMessage:
    return PromptMessage(role="user", content=text)


def test_instructions_have_a_field_of_their_own() -> None:
    body = body_of(prompt())
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert body["contents"] == [{"role": "user", "parts": [{"text": "Hi"}]}]


def test_in_the_standard_format_the_first_message_begins_with_the_instructions() -> None:
    for system_messages in (False, True):
        abilities = Capabilities(supports_system_messages=system_messages)
        body = body_of(prompt(capabilities=abilities))
        assert "systemInstruction" not in body
        assert body["contents"] == [{"role": "user", "parts": [{"text": "Be brief."}, {"text": "Hi"}]}]


def test_a_model_that_does_not_converse_gets_one_text() -> None:
    body = body_of(prompt(text="System: …"))
    assert body == {"contents": [{"role": "user", "parts": [{"text": "System: …"}]}]}


def test_settings_have_googles_names_and_are_sent_only_if_set() -> None:
    settings = {
        "temperature": 0,
        "top_p": None,
        "max_tokens": 9,
        "stop": "END",
        "thinking_config": {"thinkingBudget": 0},
        "safety_settings": [{"category": "X"}],
        "api": "responses",
        "script": [],
    }
    body = body_of(prompt(settings=settings))
    assert {*body} == {"contents", "systemInstruction", "generationConfig", "safetySettings"}
    assert body["generationConfig"] == {
        "temperature": 0,
        "maxOutputTokens": 9,
        "stopSequences": ["END"],
        "thinkingConfig": {"thinkingBudget": 0},
    }


def test_extra_fields_are_merged_in_without_loss() -> None:
    settings = {
        "temperature": 1,
        "extra_body": {"generationConfig": {"mediaResolution": "LOW"}, "labels": {}},
    }
    body = body_of(prompt(settings=settings))
    assert body["generationConfig"] == {"temperature": 1, "mediaResolution": "LOW"}
    assert body["labels"] == {}


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        (
            {"type": "function", "function": {"name": "get_weather"}},
            {"mode": "ANY", "allowedFunctionNames": ["get_weather"]},
        ),
    ],
)
def test_the_choice_of_tools_is_said_in_googles_words(choice: Any, config: dict[str, Any]) -> None:
    body = body_of(prompt(tools=(TOOL,), settings={"tool_choice": choice}))
    assert body["toolConfig"] == {"functionCallingConfig": config}
    assert "toolConfig" not in body_of(prompt(settings={"tool_choice": choice}))


def test_a_function_without_arguments_is_declared_without_a_schema() -> None:
    declared = body_of(prompt(tools=(TOOL, ToolSpec(name="get_time"))))["tools"][0]["functionDeclarations"]
    assert [each.get("parametersJsonSchema") for each in declared] == [TOOL.parameters, None]


@pytest.mark.parametrize(
    ("model", "address"),
    [
        ("gemini-2.5-flash", "/models/gemini-2.5-flash:"),
        ("models/gemini-2.5-flash", "/models/gemini-2.5-flash:"),
        ("tunedModels/mine", "/tunedModels/mine:"),
        ("a?b", "/models/a%3Fb:"),
    ],
)
def test_the_model_is_part_of_the_address(model: str, address: str) -> None:
    assert path(prompt(model=model)) == f"{address}streamGenerateContent?alt=sse"


def test_results_of_parallel_calls_share_one_content_in_order_with_what_was_said_next() -> None:
    history = (said("Hi"), called(call(1), call(2)), result(1), result(2, "rainy"), said("And Rome?"))
    contents = body_of(prompt(*history))["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    kinds = [*map(list, contents[2]["parts"])]
    assert kinds == [["functionResponse"], ["functionResponse"], ["text"]]
    assert [p["functionResponse"]["id"] for p in contents[2]["parts"][:2]] == ["call_1", "call_2"]


@pytest.mark.parametrize(
    ("content", "ok", "response"),
    [
        ('{"temp_c": 18}', True, {"temp_c": 18}),
        ("[1]", True, {"result": "[1]"}),
        ("sunny", True, {"result": "sunny"}),
        ('{"a": NaN}', True, {"result": '{"a": NaN}'}),
        ('{"temp_c": 18}', False, {"error": '{"temp_c": 18}'}),
    ],
)
def test_a_result_is_always_an_object(content: str, ok: bool, response: dict[str, Any]) -> None:
    contents = body_of(prompt(said("Hi"), called(call(1)), result(1, content, ok=ok)))["contents"]
    assert contents[2]["parts"][0]["functionResponse"]["response"] == response


def test_signatures_and_ids_go_back_on_the_parts_that_they_came_with() -> None:
    reply = read(
        part({"text": "Let "}),
        part({"text": "me look.", "thoughtSignature": "dGV4dA=="}),
        part({"functionCall": {"name": "get_weather", "id": "fc-1"}, "thoughtSignature": "Y2FsbA=="}),
        part({"functionCall": {"name": "get_weather"}}, finish="STOP"),
    )
    assert reply.finish is not None
    stored = called(
        call(1, signature="Y2FsbA==", provider_call_id="fc-1"),
        call(2),
        content=reply.text,
        provider_data=reply.finish.provider_data,
    )
    contents = body_of(prompt(said("Hi"), stored, result(1), result(2)))["contents"]
    assert contents[1]["parts"] == [
        {"text": "Let "},
        {"text": "me look.", "thoughtSignature": "dGV4dA=="},
        {
            "functionCall": {"id": "fc-1", "name": "get_weather", "args": {}},
            "thoughtSignature": "Y2FsbA==",
        },
        {"functionCall": {"id": "call_2", "name": "get_weather", "args": {}}},
    ]
    assert [p["functionResponse"]["id"] for p in contents[2]["parts"]] == ["fc-1", "call_2"]


def test_a_signature_on_an_empty_part_is_of_the_text_before_it() -> None:
    reply = read(
        part({"text": "Hel"}),
        part({"text": "lo"}),
        part({"text": "", "thoughtSignature": "c2ln"}, finish="STOP"),
    )
    assert reply.finish is not None
    assert reply.finish.provider_data == {"text_signatures": [[0, 5, "c2ln"]]}
    alone = read(part({"text": "", "thoughtSignature": "c2ln"}, finish="STOP"))
    assert alone.finish is not None
    assert alone.finish.provider_data == {}


@pytest.mark.parametrize("maker", [{"provider": "openai"}, {"model": "gemini-y"}])
def test_calls_of_another_model_go_without_its_signatures(maker: dict[str, str]) -> None:
    foreign = called(call(1, signature="c2ln", provider_call_id="x y"), call(2), **maker)
    parts = body_of(prompt(said("Hi"), foreign, result(1), result(2)))["contents"][1]["parts"]
    assert [each.get("thoughtSignature") for each in parts] == [UNSIGNED, None]
    assert [each["functionCall"]["id"] for each in parts] == ["call_1", "call_2"]


def test_signatures_that_do_not_fit_the_text_are_left_out() -> None:
    data = {"text_signatures": [[0, 2, "a"], [1, 3, "b"], [3, 9, "c"], "odd", [4, "x", "d"]]}
    stored = called(content="Hello", provider_data=data)
    parts = body_of(prompt(said("Hi"), stored, said("Go on")))["contents"][1]["parts"]
    assert parts == [{"text": "He", "thoughtSignature": "a"}, {"text": "llo"}]
