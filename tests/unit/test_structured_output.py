"""A reply that has to follow a schema: how each wire that knows such a thing says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.domain.agents import Capabilities
from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.endpoints import endpoints
from parley.providers.wire import (
    anthropic,
    bedrock_request,
    gemini,
    ollama_chat,
    ollama_generate,
    openai_chat,
    openai_responses,
    replicate,
    text_generation,
)
from parley.providers.wire.kept_reasoning import KeptReasoning

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
NAMED = {"name": "answer", "strict": True, "schema": SCHEMA}
IN_BEDROCK = {"jsonSchema": {"name": "answer", "schema": json.dumps(SCHEMA)}}
WIRES: dict[str, tuple[Any, dict[str, Any]]] = {
    "openai_chat": (openai_chat, {"response_format": {"type": "json_schema", "json_schema": NAMED}}),
    "deepseek": (
        KeptReasoning("reasoning_content"),
        {"response_format": {"type": "json_schema", "json_schema": NAMED}},
    ),
    "openai_responses": (openai_responses, {"text": {"format": {"type": "json_schema", **NAMED}}}),
    "gemini": (
        gemini,
        {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}},
    ),
    "anthropic": (anthropic, {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    "ollama_chat": (ollama_chat, {"format": SCHEMA}),
    "ollama_generate": (ollama_generate, {"format": SCHEMA}),
    "text_generation": (text_generation, {"grammar": {"type": "json", "value": SCHEMA}}),
    "bedrock": (
        bedrock_request,
        {"outputConfig": {"textFormat": {"type": "json_schema", "structure": IN_BEDROCK}}},
    ),
    "replicate": (replicate, {}),
}
"""Wire → what the schema adds to the request (for text generation, to its parameters)."""

OTHER_FORMATS: dict[str, Any] = {
    "response_format": {"type": "json_object"},
    "format": "json",
    "response_mime_type": "text/plain",
    "output_config": {"format": {"type": "other"}},
    "text": {"format": {"type": "text"}},
}


def sent(wire: Any, *, schema: dict[str, Any] | None, **settings: Any) -> dict[str, Any]:
    prompt = Prompt(
        provider="p",
        model="m",
        capabilities=Capabilities(),
        messages=(PromptMessage(role="user", content="A word?"),),
        response_schema=schema,
        settings=settings,
    )
    body: dict[str, Any] = wire.encode(prompt)
    return body | body.pop("parameters", {})


@pytest.mark.parametrize("name", WIRES)
def test_each_wire_says_it_in_its_own_way(name: str) -> None:
    wire, added = WIRES[name]
    plain, held = sent(wire, schema=None), sent(wire, schema=SCHEMA)
    assert {key: value for key, value in held.items() if plain.get(key) != value} == added


@pytest.mark.parametrize("name", WIRES)
def test_the_schema_comes_before_a_format_that_the_agent_asks_for_in_its_replies(name: str) -> None:
    wire, added = WIRES[name]
    body = sent(wire, schema=SCHEMA, **OTHER_FORMATS)
    assert {key: body[key] for key in added} == added


def test_what_else_stands_in_the_same_object_stays() -> None:
    effort = sent(anthropic, schema=SCHEMA, output_config={"effort": "low"})["output_config"]
    assert effort == {"effort": "low", **WIRES["anthropic"][1]["output_config"]}
    text = sent(openai_responses, schema=SCHEMA, verbosity="low")["text"]
    assert text == {"verbosity": "low", **WIRES["openai_responses"][1]["text"]}


def test_every_row_that_claims_it_has_a_wire_that_says_it() -> None:
    claiming = [row for row in endpoints() if row.capabilities.supports_structured_output]
    assert {row.name for row in claiming} == {"openai", "google", "anthropic", "ollama"}
    for row in claiming:
        wires = [row.wire, *(row.choice.wires.values() if row.choice else ())]
        wires += [row.conversing.wire] if row.conversing else []
        for wire in wires:
            assert "word" in json.dumps(sent(wire, schema=SCHEMA)), row.name
