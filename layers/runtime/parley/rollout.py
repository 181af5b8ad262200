"""Feature flags by Powertools' rules, wherever they are kept.

Owns the flag ``message_form`` and what its rules can name::

    {"message_form": {"boolean_type": false, "default": "messages", "rules": {
        "ollama as before": {"when_match": "concatenated",
            "conditions": [{"action": "EQUALS", "key": "provider", "value": "ollama"}]}}}}

Keys of conditions: provider, model, agent_id, project_id, user_id, and thread_percent, a number from 0 to 99
that a thread keeps for life. Source of the schema: Powertools for AWS Lambda, feature flags.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable
from typing import Any, cast, get_args

from aws_lambda_powertools.utilities.feature_flags import FeatureFlags, SchemaValidator
from aws_lambda_powertools.utilities.feature_flags.base import StoreProvider
from aws_lambda_powertools.utilities.feature_flags.exceptions import (
    ConfigurationStoreError,
    SchemaValidationError,
    StoreClientError,
)

from parley.prompts.prompt import MessageForm
from parley.turns.rollout_ports import PromptFacts

MESSAGE_FORM = "message_form"
NEW_FORM: MessageForm = "messages"
_NO_FLAGS = {MESSAGE_FORM: {"boolean_type": False, "default": NEW_FORM}}
ASK_AGAIN_SECONDS = 60.0
"""How long a source that failed is left alone."""
_log = logging.getLogger("parley.flags")


class RuleFlags:
    """Implements Flags. ``store`` says what is configured; its own errors leave what was last known to be right."""

    def __init__(
        self,
        store: StoreProvider,
        *,
        ask_again_seconds: float = ASK_AGAIN_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._flags = FeatureFlags(_LastGood(store, ask_again_seconds, monotonic))

    def message_form(self, facts: PromptFacts) -> MessageForm:
        """See the port."""
        value = self._flags.evaluate(name=MESSAGE_FORM, context=_context(facts), default=NEW_FORM)
        if value not in get_args(MessageForm):
            known = " or ".join(get_args(MessageForm))
            _log.warning("the flag %s must be %s, not %r", MESSAGE_FORM, known, value)
            return NEW_FORM
        return cast("MessageForm", value)


def check_flags(configuration: Any) -> str | None:
    """What is wrong with a configuration, in words; None if it can be used."""
    if not isinstance(configuration, dict):
        return "it must be an object with one entry per flag"
    try:
        SchemaValidator(schema=configuration or _NO_FLAGS).validate()
    except SchemaValidationError as error:
        return str(error)
    flag = configuration.get(MESSAGE_FORM, {"default": NEW_FORM})
    rules = (flag.get("rules") or {}).values()
    for value in (flag["default"], *(rule["when_match"] for rule in rules)):
        if value not in get_args(MessageForm):
            return f"{MESSAGE_FORM} must be {' or '.join(get_args(MessageForm))}, not {value!r}"
    return None


def _context(facts: PromptFacts) -> dict[str, Any]:
    digest = hashlib.sha256(facts.thread_id.encode()).digest()
    return {
        "provider": facts.provider,
        "model": facts.model,
        "agent_id": facts.agent_id,
        "project_id": facts.project_id,
        "user_id": facts.user_id,
        "thread_percent": int.from_bytes(digest[:4], "big") % 100,
    }


class _LastGood(StoreProvider):
    """What the store says if that can be used, and else what it said last; said once in the log."""

    def __init__(
        self, store: StoreProvider, ask_again_seconds: float, monotonic: Callable[[], float]
    ) -> None:
        self._store = store
        self._pause = ask_again_seconds
        self._monotonic = monotonic
        self._good: dict[str, Any] = _NO_FLAGS
        self._seen: Any = None
        self._ask_at = -math.inf
        self._said = ""

    @property
    def get_raw_configuration(self) -> dict[str, Any]:
        return self.get_configuration()

    def get_configuration(self) -> dict[str, Any]:
        """Never raises what the store does."""
        if self._monotonic() < self._ask_at:
            return self._good
        try:
            found = self._store.get_configuration()
        except (ConfigurationStoreError, StoreClientError) as error:
            self._ask_at = self._monotonic() + self._pause
            self._say(f"{error.__cause__ or error}")
            return self._good
        if found is not self._seen:
            self._seen = found
            wrong = check_flags(found)
            if wrong is None:
                self._good, self._said = found or _NO_FLAGS, ""
            else:
                self._say(wrong)
        return self._good

    def _say(self, what: str) -> None:
        if what != self._said:
            self._said = what
            _log.warning("the feature flags cannot be read, the last ones stay: %s", what)
