"""Settings read from variables, with words for a value that is not accepted. Whose variables is wiring's business."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from parley.domain.errors import ParleyError
from parley.tools.hosts import ANYWHERE, PUBLIC, HostRules
from parley.turns.ports import Secrets
from parley.turns.runtime import DAY, Settings

Variables = Mapping[str, str]
_FLAG_NAMES = 3


class BadSetting(ParleyError):
    """An environment variable has a value that is not accepted; the message names it."""


class VariablesFirst:
    """Settings from variables, and behind them from another source."""

    def __init__(self, variables: Variables, behind: Secrets | None = None) -> None:
        self._variables = variables
        self._behind = behind

    def get(self, name: str) -> str | None:
        """An empty variable counts as none."""
        return self._variables.get(name) or (self._behind.get(name) if self._behind else None)


def settings(variables: Variables, *, chunk_milliseconds: int) -> Settings:
    """The tunable facts. Raises BadSetting."""
    return Settings(
        chunk_seconds=_number(variables, "PARLEY_CHUNK_MILLISECONDS", chunk_milliseconds, 0, 10_000) / 1000,
        event_retention_seconds=_number(variables, "PARLEY_EVENT_RETENTION_DAYS", 30, 1, 3650) * DAY,
        socket_url=_socket_url(variables.get("PARLEY_SOCKET_ENDPOINT", "")),
    )


def _socket_url(endpoint: str) -> str | None:
    """Clients connect where frames are posted, by another scheme."""
    return f"wss://{endpoint.removeprefix('https://')}" if endpoint.startswith("https://") else None


def _number(variables: Variables, name: str, otherwise: float, least: float, most: float) -> float:
    text = variables.get(name) or str(otherwise)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise BadSetting(f"{name} is {text!r}; it must be a number from {least:g} to {most:g}")
    return number


def modules(names: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


def flag_names(names: str) -> list[str]:
    """Application, environment and profile in AppConfig. Raises BadSetting."""
    parts = names.split("/")
    if len(parts) != _FLAG_NAMES or not all(parts):
        raise BadSetting(
            f"PARLEY_FLAGS is {names!r}; it must be APPLICATION/ENVIRONMENT/PROFILE of AppConfig"
        )
    return parts


def durability(variables: Variables) -> Literal["NORMAL", "FULL"]:
    """How hard SQLite makes a commit: NORMAL survives a crash of the process, FULL also a loss of power."""
    chosen = variables.get("PARLEY_SYNCHRONOUS", "").upper() or "NORMAL"
    if chosen == "FULL":
        return "FULL"
    if chosen != "NORMAL":
        raise BadSetting(f"PARLEY_SYNCHRONOUS is {chosen!r}; it must be NORMAL or FULL")
    return "NORMAL"


def function_hosts(variables: Variables, *, on_aws: bool) -> HostRules:
    """Where functions may call: anywhere from a laptop, public hosts from AWS, unless the setting says otherwise."""
    text = variables.get("PARLEY_FUNCTION_HOSTS") or (PUBLIC if on_aws else ANYWHERE)
    rules = HostRules.of(text)
    if on_aws and rules.open:
        raise BadSetting(
            f"PARLEY_FUNCTION_HOSTS is {text!r}; on AWS it must name hosts, or be public: a Lambda's own "
            "interface is on its loopback address"
        )
    return rules
