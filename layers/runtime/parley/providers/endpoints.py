"""The providers that speak a known wire: one row each.

A row says where a provider is, how it wants its key and what it can do. A provider with a wire of its own
adds a module to ``wire/`` and a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from parley.domain.agents import Capabilities
from parley.prompts.prompt import Prompt
from parley.providers.wire import (
    anthropic,
    gemini,
    gemini_images,
    huggingface_images,
    ollama_chat,
    ollama_generate,
    openai_chat,
    openai_images,
    openai_moderation,
    openai_responses,
    openrouter_images,
    replicate,
    text_generation,
)
from parley.providers.wire.kept_reasoning import KeptReasoning
from parley.providers.wire.protocol import ImageWire, ModerationWire, Wire

AuthStyle = Literal["bearer", "x-api-key", "x-goog-api-key"]


@dataclass(frozen=True, slots=True)
class WireChoice:
    """For a provider that speaks several wires. None of the names below is ever sent to it.

    ``wires``: by the names that people choose from. ``agent_setting``: the key of an agent's settings that
    holds one; ``setting``: the installation's, for agents that say nothing. The row's own wire serves else.
    """

    wires: Mapping[str, Wire]
    agent_setting: str
    setting: str


@dataclass(frozen=True, slots=True)
class Conversing:
    """How agents whose capabilities say that the model converses reach it, where the row's own do not."""

    wire: Wire
    base_url: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider. ``base_url_setting`` and ``key_setting`` name the settings that configure it.

    ``needs_key=False``: configured without any setting. ``headers``: sent with every request;
    ``auth_setting`` names the setting that chooses another way to send the key than ``auth``.
    ``header_settings`` maps further header names to settings, sent if set. ``renamed_at_home``: body fields
    that the provider's own servers call differently from the compatible ones that a base URL may point to.
    ``own_server_path``: where a server of one model, whose base URL names a host alone, takes the row's wire.
    ``prompt_headers``: what a prompt adds. ``key_hosts``: where follow-up requests may take the key, besides
    the host that named them. ``moderation`` and ``images``: how it does that, if it does.
    """

    name: str
    wire: Wire
    base_url: str
    base_url_setting: str
    key_setting: str
    auth: AuthStyle = "bearer"
    auth_setting: str = ""
    needs_key: bool = True
    capabilities: Capabilities = field(default_factory=Capabilities)
    headers: Mapping[str, str] = field(default_factory=dict)
    header_settings: Mapping[str, str] = field(default_factory=dict)
    renamed_at_home: Mapping[str, str] = field(default_factory=dict)
    choice: WireChoice | None = None
    conversing: Conversing | None = None
    own_server_path: str = ""
    prompt_headers: Callable[[Prompt], Mapping[str, str]] | None = None
    key_hosts: frozenset[str] = frozenset()
    moderation: ModerationWire | None = None
    images: ImageWire | None = None


_ONE_TEXT = Capabilities(
    supports_conversation=False, supports_system_messages=False, supports_tool_calls=False
)
"""What models that complete one text can do."""


def endpoints() -> tuple[Endpoint, ...]:
    """All rows."""
    return (*_openai(), *_google_and_anthropic(), *_on_openai_chat(), *_completing())


def _openai() -> tuple[Endpoint, ...]:
    """OpenAI, on two wires."""
    return (
        Endpoint(
            name="openai",
            wire=openai_chat,
            base_url="https://api.openai.com/v1",
            base_url_setting="OPENAI_BASE_URL",
            key_setting="OPENAI_API_KEY",
            header_settings={"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"},
            # Its reasoning models refuse the older name, which is the one that compatible servers know.
            renamed_at_home={"max_tokens": "max_completion_tokens"},
            choice=WireChoice(
                wires={"completions": openai_chat, "responses": openai_responses},
                agent_setting="api",
                setting="OPENAI_DEFAULT_API",
            ),
            capabilities=Capabilities(supports_structured_output=True),
            moderation=openai_moderation,
            images=openai_images,
        ),
    )


def _google_and_anthropic() -> tuple[Endpoint, ...]:
    """Wires of their own."""
    return (
        Endpoint(
            name="google",
            wire=gemini,
            base_url="https://generativelanguage.googleapis.com/v1beta",
            base_url_setting="GOOGLE_BASE_URL",
            key_setting="GOOGLE_API_KEY",
            auth="x-goog-api-key",
            # No message has the role system; the wire sends instructions in the field that there is for them.
            capabilities=Capabilities(
                supports_system_messages=False, supports_structured_output=True, custom_format="gemini"
            ),
            images=gemini_images,
        ),
        Endpoint(
            name="anthropic",
            wire=anthropic,
            base_url="https://api.anthropic.com",
            base_url_setting="ANTHROPIC_BASE_URL",
            key_setting="ANTHROPIC_API_KEY",
            capabilities=Capabilities(supports_structured_output=True),
            # The official SDKs send a bearer token since 2026-10-21; gateways may know the older x-api-key only.
            auth_setting="ANTHROPIC_AUTH",
            headers={"anthropic-version": "2026-10-21"},
            header_settings={"anthropic-version": "ANTHROPIC_VERSION", "anthropic-beta": "ANTHROPIC_BETA"},
        ),
    )


def _on_openai_chat() -> tuple[Endpoint, ...]:
    """Who speaks OpenAI's chat wire, more or less."""
    return (
        Endpoint(
            name="deepseek",
            wire=KeptReasoning("reasoning_content", required=True),
            base_url="https://api.deepseek.com",
            base_url_setting="DEEPSEEK_BASE_URL",
            key_setting="DEEPSEEK_API_KEY",
        ),
        Endpoint(
            name="openrouter",
            wire=KeptReasoning("reasoning_details"),
            base_url="https://openrouter.ai/api/v1",
            base_url_setting="OPENROUTER_BASE_URL",
            key_setting="OPENROUTER_API_KEY",
            header_settings={"HTTP-Referer": "OPENROUTER_HTTP_REFERER", "X-Title": "OPENROUTER_X_TITLE"},
            images=openrouter_images,
        ),
        Endpoint(
            name="groq",
            wire=openai_chat,
            base_url="https://api.groq.com/openai/v1",
            base_url_setting="GROQ_BASE_URL",
            key_setting="GROQ_API_KEY",
            renamed_at_home={"max_tokens": "max_completion_tokens"},
        ),
    )


def _completing() -> tuple[Endpoint, ...]:
    """What an agent's capabilities claim beyond these reaches the provider's conversing wire, if it has one."""
    return (
        Endpoint(
            name="ollama",
            wire=ollama_generate,
            base_url="http://127.0.0.1:11434",
            base_url_setting="OLLAMA_BASE_URL",
            key_setting="OLLAMA_API_KEY",
            needs_key=False,
            # Its server constrains the sampling, whatever the model.
            capabilities=_ONE_TEXT.but(supports_structured_output=True),
            conversing=Conversing(ollama_chat, "http://127.0.0.1:11434"),
        ),
        Endpoint(
            name="huggingface",
            wire=text_generation,
            base_url="https://router.huggingface.co/hf-inference",
            base_url_setting="HUGGINGFACE_BASE_URL",
            key_setting="HUGGINGFACE_API_KEY",
            capabilities=_ONE_TEXT,
            conversing=Conversing(openai_chat, "https://router.huggingface.co/v1"),
            own_server_path="/",
            images=huggingface_images,
        ),
        Endpoint(
            name="replicate",
            wire=replicate,
            base_url="https://api.replicate.com/v1",
            base_url_setting="REPLICATE_BASE_URL",
            key_setting="REPLICATE_API_KEY",
            capabilities=_ONE_TEXT,
            prompt_headers=replicate.headers,
            key_hosts=frozenset({"stream.replicate.com"}),
        ),
    )
