"""What the use cases need of the functions that agents call. See ``ports`` for the rest of the world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from parley.domain.agents import AgentFunction, ImageModel
from parley.domain.remote_functions import RemoteFunction

DEFAULT_SECONDS = 60
"""How long a function may take if neither the agent nor its class says."""


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
class RemoteCall:
    """A call to a function that runs elsewhere. ``name``: the agent's for it. ``seconds``: after which nobody waits.

    ``idempotency_key`` goes out with the call, so that one made again can be known as such.
    """

    name: str
    implementation: RemoteFunction
    arguments: dict[str, Any]
    user_id: str
    project_id: str
    agent_id: str
    thread_id: str
    idempotency_key: str
    seconds: float = DEFAULT_SECONDS


@dataclass(frozen=True, slots=True)
class FunctionOutcome:
    """What the model is told (``content``) and, beside it, what the page gets (``additional_data``)."""

    content: str
    ok: bool = True
    additional_data: dict[str, Any] = field(default_factory=dict)


def stopped(content: str, *, unrun: bool = False) -> FunctionOutcome:
    """A call that a person ended by stopping its turn: ``content`` is for the model, people are told in fewer words.

    ``unrun``: it certainly did nothing.
    """
    words = "Stopped before it ran." if unrun else "Stopped. It may have acted before."
    return FunctionOutcome(content, ok=False, additional_data={"stopped": words})


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A registered class's own facts: defaults for an agent's function of that class."""

    class_name: str
    description: str
    parameters: dict[str, Any]
    requires_user_confirmation: bool
    confirmation_question: str | None
    time_limit_seconds: int = DEFAULT_SECONDS


class LambdaFailed(Exception):
    """An invocation gave no result; the message is plain words without anything secret.

    ``ran``: whether the function may have run, and so may have acted.
    """

    def __init__(self, message: str, *, ran: bool) -> None:
        super().__init__(message)
        self.ran = ran


class LambdaInvoker(Protocol):
    """Lambda functions, invoked and waited for."""

    def invoke(self, function: str, payload: bytes, seconds: float) -> bytes:
        """The result as JSON text. Raises LambdaFailed: not there, not allowed, throttled, failed, too slow."""
        ...


class Functions(Protocol):
    """Registered function classes, and functions that run elsewhere; the same for as long as the process lives."""

    def __hash__(self) -> int: ...

    def call(self, call: FunctionCall | RemoteCall) -> FunctionOutcome:
        """Run it. Never raises for what a model or a function did wrong: that is an outcome with ``ok=False``."""
        ...

    def fault(self, function: AgentFunction, arguments: dict[str, Any]) -> str | None:
        """None if the arguments fit the function's class or schema; else ``Validation failed: …`` with the field."""
        ...

    def settled(self, project_id: str, functions: Sequence[AgentFunction]) -> tuple[AgentFunction, ...]:
        """The functions as an agent keeps them: checked, and what an MCP server knows of its tools filled in.

        Raises InvalidRequest: a class or a tool that is not there, an address that is not allowed, a schema
        that is none, a server that does not answer.
        """
        ...

    def prompt_context(
        self, class_names: Iterable[str], *, user_id: str, project_id: str, agent_id: str, thread_id: str
    ) -> list[str]:
        """What these classes want a prompt that offers them to say, a paragraph each."""
        ...

    def spec(self, class_name: str) -> FunctionSpec | None:
        """The class's facts, or None if no pack has it."""
        ...
