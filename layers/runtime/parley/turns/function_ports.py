"""What the use cases need of registered function classes. See ``ports`` for the rest of the world."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from parley.domain.agents import ImageModel


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call to a registered function class.

    ``idempotency_key`` is for outside systems: it repeats when the call does. ``images``: who makes the agent's
    pictures.
    """

    class_name: str
    arguments: dict[str, Any]
    user_id: str
    project_id: str
    agent_id: str
    thread_id: str
    idempotency_key: str
    images: ImageModel | None = None


@dataclass(frozen=True, slots=True)
class FunctionOutcome:
    """What the model is told (``content``) and, beside it, what the page gets (``additional_data``)."""

    content: str
    ok: bool = True
    additional_data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A registered class's own facts: defaults for an agent's function of that class."""

    class_name: str
    description: str
    parameters: dict[str, Any]
    requires_user_confirmation: bool
    confirmation_question: str | None


class Functions(Protocol):
    """The registered function classes; the same for as long as the process lives."""

    def __hash__(self) -> int: ...

    def call(self, call: FunctionCall) -> FunctionOutcome:
        """Run it. Never raises for what a model or a function did wrong: that is an outcome with ``ok=False``."""
        ...

    def validate(self, class_name: str, arguments: dict[str, Any]) -> str | None:
        """None if the arguments fit; otherwise ``Validation failed: …`` naming the field."""
        ...

    def prompt_context(
        self, class_names: Iterable[str], *, user_id: str, project_id: str, agent_id: str, thread_id: str
    ) -> list[str]:
        """What these classes want a prompt that offers them to say, a paragraph each."""
        ...

    def spec(self, class_name: str) -> FunctionSpec | None:
        """The class's facts, or None if no pack has it."""
        ...
