"""Feature flags of a data folder: its ``flags.json``, or the JSON or TOML file that a setting names."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from parley.domain.errors import ParleyError
from parley.prompts.prompt import MessageForm
from parley.turns.rollout_ports import NoFlags, PromptFacts

if TYPE_CHECKING:
    from parley.rollout import RuleFlags

FILE = "flags.json"


class BadFlags(ParleyError):
    """The file of the feature flags cannot be used; the message says why."""


class FileFlags:
    """Implements Flags. A changed file counts from the next prompt on; without a file there are no flags."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rules: RuleFlags | None = None
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raises BadFlags if there is a file and it cannot be used."""
        if self._path.exists():
            from parley.embedded.flags_file import fault_of  # noqa: PLC0415 - loaded where there are flags

            if wrong := fault_of(self._path):
                raise BadFlags(f"the feature flags cannot be used: {wrong}")

    def message_form(self, facts: PromptFacts) -> MessageForm:
        """See the port."""
        if not self._path.exists():
            return NoFlags().message_form(facts)
        with self._lock:
            if self._rules is None:
                from parley.embedded.flags_file import rules_of  # noqa: PLC0415 - loaded where there are flags

                self._rules = rules_of(self._path)
            return self._rules.message_form(facts)
