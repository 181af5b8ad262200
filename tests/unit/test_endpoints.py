"""The rows: what each provider can do, and that the documentation names their settings."""

import re
from pathlib import Path

import pytest

from parley.domain.agents import Capabilities
from parley.providers.bedrock import BedrockProvider
from parley.providers.endpoints import Endpoint, endpoints
from parley.providers.registry import ProviderRegistry

ROWS = {row.name: row for row in endpoints()}
DOCUMENTATION = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")
ALL = Capabilities(supports_conversation=True, supports_system_messages=True, supports_tool_calls=True)
NONE = Capabilities(supports_conversation=False, supports_system_messages=False, supports_tool_calls=False)
CAPABILITIES = {
    "openai": ALL.but(supports_structured_output=True),
    "anthropic": ALL.but(supports_structured_output=True),
    "deepseek": ALL,
    "openrouter": ALL,
    "groq": ALL,
    "google": ALL.but(
        supports_system_messages=False, supports_structured_output=True, custom_format="gemini"
    ),
    "huggingface": NONE,
    "ollama": NONE.but(supports_structured_output=True),
    "replicate": NONE,
}


class NoSettings:
    def get(self, name: str) -> str | None:
        return None


def test_every_provider_can_do_what_the_architecture_says() -> None:
    assert {name: row.capabilities for name, row in ROWS.items()} == CAPABILITIES
    assert BedrockProvider(NoSettings()).capabilities() == ALL


def test_names_and_settings_are_each_somebodys_own() -> None:
    assert len(ROWS) == len(endpoints())
    settings = [name for row in endpoints() for name in (row.key_setting, row.base_url_setting)]
    assert len({*settings}) == len(settings)
    for row in endpoints():
        assert (row.key_setting, row.base_url_setting) == (
            f"{row.name.upper()}_API_KEY",
            f"{row.name.upper()}_BASE_URL",
        )


def documented() -> dict[str, str]:
    """Provider → its line in the table of settings."""
    table = DOCUMENTATION.split("## What their models can do")[0]
    return dict(re.findall(r"^\| `(\w+)` (\|.*)$", table, re.MULTILINE))


def test_the_documentation_lists_the_providers_that_there_are() -> None:
    assert sorted(documented()) == sorted(ProviderRegistry(NoSettings()).names())


@pytest.mark.parametrize("row", endpoints(), ids=lambda row: row.name)
def test_the_documentation_names_all_settings_of_a_provider(row: Endpoint) -> None:
    wanted = {row.key_setting, row.base_url_setting, *row.header_settings.values()}
    wanted |= {row.auth_setting} if row.auth_setting else set()
    wanted |= {row.choice.setting} if row.choice else set()
    assert {*re.findall(r"`([A-Z][A-Z_]+)`", documented()[row.name])} == wanted


def test_only_what_needs_no_key_is_configured_without_settings() -> None:
    registry = ProviderRegistry(NoSettings())
    configured = {name for name in ROWS if registry.get(name).is_configured()}
    assert configured == {name for name, row in ROWS.items() if not row.needs_key} == {"ollama"}
