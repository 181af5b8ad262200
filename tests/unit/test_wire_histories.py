"""Whatever is stored, made with whichever provider: what is sent is a request that its target accepts."""

from types import ModuleType
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

from parley.domain.agents import Agent, AgentFunction, ClassFunction
from parley.domain.messages import Message
from parley.prompts.build import build_prompt
from parley.providers.endpoints import endpoints
from parley.providers.wire import (
    gemini,
    ollama_chat,
    ollama_generate,
    openai_chat,
    openai_responses,
    replicate,
    text_generation,
)
from parley.providers.wire.kept_reasoning import KeptReasoning
from tests.support import (
    wire_rules_deepseek,
    wire_rules_gemini,
    wire_rules_ollama_chat,
    wire_rules_one_text,
    wire_rules_openai_chat,
    wire_rules_openai_responses,
    wire_rules_openrouter,
)
from tests.support.stored_histories import MODELS, stored_histories

TARGETS: dict[str, tuple[str, Any, ModuleType]] = {
    "google": ("google", gemini, wire_rules_gemini),
    "openai over responses": ("openai", openai_responses, wire_rules_openai_responses),
    "openai over completions": ("openai", openai_chat, wire_rules_openai_chat),
    "deepseek": ("deepseek", KeptReasoning("reasoning_content", required=True), wire_rules_deepseek),
    "openrouter": ("openrouter", KeptReasoning("reasoning_details"), wire_rules_openrouter),
    "ollama conversing": ("ollama", ollama_chat, wire_rules_ollama_chat),
    "huggingface conversing": ("huggingface", openai_chat, wire_rules_openai_chat),
    "ollama": ("ollama", ollama_generate, wire_rules_one_text),
    "huggingface": ("huggingface", text_generation, wire_rules_one_text),
    "replicate": ("replicate", replicate, wire_rules_one_text),
}
"""Target → provider, its wire, the rules of that wire."""

TARGET = "whoever it is sent to"

OVERRIDES: list[dict[str, Any]] = [
    {},
    {"supports_tool_calls": False},
    {"supports_system_messages": False},
    {"supports_conversation": False},
    {"supports_conversation": True},
    {"supports_tool_calls": True, "supports_system_messages": True},
    {"custom_format": "standard"},
]
WEATHER = AgentFunction(
    name="get_weather",
    description="Weather",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
    implementation=ClassFunction(class_name="Weather"),
)


@settings(max_examples=300)
@given(
    history=stored_histories(mostly=TARGET),
    overrides=st.sampled_from(OVERRIDES),
    model=st.sampled_from(MODELS),
    window=st.integers(1, 30),
    final=st.booleans(),
)
def test_any_stored_history_becomes_a_request_that_every_target_accepts(
    history: list[Message], overrides: dict[str, Any], model: str, window: int, *, final: bool
) -> None:
    """A history takes longer to draw than to send to all of them."""
    for target, (provider, wire, rules) in TARGETS.items():
        note(f"sent to {target}")
        row = next(row for row in endpoints() if row.name == provider)
        agent = Agent(
            agent_id="a",
            name="A",
            provider=provider,
            model=model,
            capabilities=overrides,
            history_window=window,
            functions=(WEATHER,),
        )
        prompt = build_prompt(agent, row.capabilities, made_by(provider, history), final=final)
        body = wire.encode(prompt)
        rules.check(body)
        assert wire.encode(prompt) == body


def made_by(provider: str, history: list[Message]) -> list[Message]:
    """The history in which what the target made was made by this provider."""
    return [
        message.but(metadata={**message.metadata, "provider": provider})
        if message.metadata.get("provider") == TARGET
        else message
        for message in history
    ]
