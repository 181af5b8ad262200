"""What the use cases need for a rollout: flags that say in which form to ask, and what became of each model call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from parley.domain.messages import Usage
from parley.prompts.prompt import MessageForm, Purpose


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """Of whom the flags are asked: what rules can name. ``thread_id`` is the root's."""

    provider: str
    model: str
    agent_id: str
    project_id: str
    user_id: str
    thread_id: str


class Flags(Protocol):
    """The installation's feature flags. They never fail a turn: what cannot be read is as if it were not there."""

    def message_form(self, facts: PromptFacts) -> MessageForm:
        """Whether a prompt is an array of messages or one concatenated text."""
        ...


Outcome = Literal["answered", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to a provider. ``seconds``: from the request to the end of its reply.

    ``failure`` is the class of the error, such as ``ProviderOverloaded``. ``interrupted``: given up by us,
    because the turn was cancelled, another run took over, or what was asked for is no longer wanted.
    """

    provider: str
    model: str
    form: MessageForm
    seconds: float
    outcome: Outcome
    failure: str | None = None
    usage: Usage | None = None
    purpose: Purpose = "reply"


class Meter(Protocol):
    """Where it is counted what model calls take."""

    def model_call(self, call: ModelCall) -> None:
        """Count one call. Never raises."""
        ...


class NoFlags:
    """Flags of an installation that has none: the newer form for everybody."""

    def message_form(self, facts: PromptFacts) -> MessageForm:
        """Messages."""
        return "messages"


class NoMeter:
    """Counts nothing."""

    def model_call(self, call: ModelCall) -> None:
        """Nothing."""
