"""The settings of a ProviderClient: by short names or the installation's own, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from parley.domain.errors import ProviderNotConfigured
from parley.providers import bedrock
from parley.providers.endpoints import Endpoint, endpoints
from parley.turns.ports import Secrets

_BEDROCK = (*bedrock.REGION_SETTINGS, bedrock.PROFILE_SETTING, bedrock.BASE_URL_SETTING)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=//)[^/@]*@")
_QUERY = re.compile(r"\?.*", re.DOTALL)
_SHOWN, _ENOUGH = 4, 16


class ClientSettings:
    """Implements Secrets: what was configured here, then what another source has."""

    def __init__(
        self, provider: str, behind: Secrets | None = None, rows: Sequence[Endpoint] | None = None
    ) -> None:
        found = endpoints() if rows is None else rows
        self._row = next((row for row in found if row.name == provider), None)
        self._provider = provider
        self._behind = behind
        self._given: dict[str, str] = {}
        self.model: str | None = "demo" if provider == "scripted" else None
        self.model_settings: dict[str, Any] = {}

    def get(self, name: str) -> str | None:
        """See the port. One that is configured as empty is not looked up elsewhere."""
        if name in self._given:
            return self._given[name] or None
        return self._behind.get(name) if self._behind else None

    def change(self, settings: Mapping[str, Any]) -> None:
        """Take what is given. Raises ProviderNotConfigured for a short name that this provider has no use for."""
        for name, value in settings.items():
            if name == "model":
                self.model = None if value is None else str(value)
            elif name in ("api_key", "base_url"):
                self._change(self._own_name(name), value)
            elif name.isupper():
                self._change(name, value)
            elif value is None:
                self.model_settings.pop(name, None)
            else:
                self.model_settings[name] = value

    def _change(self, name: str, value: Any) -> None:
        if value is None:
            self._given.pop(name, None)
        else:
            self._given[name] = str(value)

    def _own_name(self, short: str) -> str:
        """What the installation calls it."""
        if self._row is not None:
            return self._row.key_setting if short == "api_key" else self._row.base_url_setting
        if self._provider == bedrock.BedrockProvider.name and short == "base_url":
            return bedrock.BASE_URL_SETTING
        raise ProviderNotConfigured(f"{self._provider} has no setting {short}")

    def missing(self) -> str:
        """In words, what would have to be set."""
        if self._row is not None:
            return f"{self._row.key_setting} is not set"
        return f"none of {', '.join((*bedrock.REGION_SETTINGS, bedrock.PROFILE_SETTING))} is set"

    def shown(self) -> dict[str, Any]:
        """All settings that are there, keys and passwords masked."""
        known = [*self._names(), *self._given]
        values = {name: self.get(name) for name in dict.fromkeys(known)}
        installed = {name: _masked(name, value) for name, value in values.items() if value}
        settings = {name: _masked(name, value) for name, value in self.model_settings.items()}
        return {"provider": self._provider, "model": self.model, **settings, **installed}

    def _names(self) -> list[str]:
        """What this provider reads."""
        row = self._row
        if row is None:
            is_bedrock = self._provider == bedrock.BedrockProvider.name
            return list(_BEDROCK) if is_bedrock else []
        names = [row.key_setting, row.base_url_setting, row.auth_setting, *row.header_settings.values()]
        names += [row.choice.setting] if row.choice else []
        return [name for name in names if name]


def _masked(name: str, value: Any) -> Any:
    """A secret is shown by its end, if it is long enough for that to tell nothing."""
    if not isinstance(value, str):
        return value
    if _SECRET.search(name):
        return f"…{value[-_SHOWN:]}" if len(value) >= _ENOUGH else "…"
    return _QUERY.sub("?…", _LOGIN.sub("…@", value)) if "//" in value else value
