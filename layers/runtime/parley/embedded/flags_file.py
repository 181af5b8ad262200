"""The file of the feature flags, as a store of Powertools' own. Apart, because Powertools brings boto3 along."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from aws_lambda_powertools.utilities.feature_flags.base import StoreProvider
from aws_lambda_powertools.utilities.feature_flags.exceptions import ConfigurationStoreError

from parley.rollout import RuleFlags, check_flags


class FlagsFile(StoreProvider):
    """A JSON or TOML file, read again when it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[tuple[int, int], Any] | None = None

    @property
    def get_raw_configuration(self) -> dict[str, Any]:
        return self.get_configuration()

    def get_configuration(self) -> dict[str, Any]:
        """The same object again while the file is the same. Raises ConfigurationStoreError."""
        try:
            status = self._path.stat()
            version = (status.st_mtime_ns, status.st_size)
            if self._known is None or self._known[0] != version:
                self._known = version, self._read()
        except (OSError, ValueError) as error:
            raise ConfigurationStoreError(f"{self._path}: {error}") from error
        configuration: dict[str, Any] = self._known[1]
        return configuration

    def _read(self) -> Any:
        text = self._path.read_text(encoding="utf-8")
        return tomllib.loads(text) if self._path.suffix == ".toml" else json.loads(text)


def rules_of(path: Path) -> RuleFlags:
    """The flags in the file."""
    return RuleFlags(FlagsFile(path), ask_again_seconds=1.0)


def fault_of(path: Path) -> str | None:
    """Why the file cannot be used, in words."""
    try:
        wrong = check_flags(FlagsFile(path).get_configuration())
    except ConfigurationStoreError as error:
        return str(error)
    return wrong and f"{path}: {wrong}"
