"""What a function class is.

::

    class CountOrders(Function):
        name = "countOrders"
        description = "Counts the project's orders."

        class Arguments(FunctionArguments):
            status: Literal["open", "closed"] = "open"

        def handle(self, arguments: Arguments) -> str:
            return f"There are {len(self.context.data.list('order/'))} orders."

A pack is a module with ``functions()``, which returns its classes; it registers in the entry-point group
``parley.functions`` or by its module's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from parley.domain.agents import AgentFunction, ClassFunction
from parley.tools.data import ProjectData
from parley.tools.schema import parameters_of
from parley.turns.files import ProjectFiles
from parley.turns.function_ports import DEFAULT_SECONDS
from parley.turns.knowledge import ProjectKnowledge
from parley.turns.model_ports import Image
from parley.turns.ports import Clock


class FunctionFailed(Exception):
    """The function could not do what was asked; the message is for the model, in plain words."""


class FunctionArguments(BaseModel):
    """Base of arguments models: unknown arguments are refused, so that a model's slip is noticed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class FunctionResult:
    """What the model is told, and what the page gets beside it, such as ``{"table_data": …}``."""

    content: str
    additional_data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FunctionContext:
    """Who calls, and what the function may use.

    ``idempotency_key`` is the same whenever the same call runs again: hand it to outside systems, and keep it
    with what was changed. ``files`` are the project's workspace; ``imagine`` makes a picture with the agent's image
    model, and raises a ProviderError; ``knowledge`` searches the project's documents. Each is None where the
    installation or the agent has none.
    """

    user_id: str
    project_id: str
    agent_id: str
    thread_id: str
    idempotency_key: str
    data: ProjectData
    clock: Clock
    files: ProjectFiles | None = None
    imagine: Callable[[str], Image] | None = None
    knowledge: ProjectKnowledge | None = None


class Function(ABC):
    """Base of function classes. An object serves one call; a call may run again after a crash, same key."""

    name: ClassVar[str]
    description: ClassVar[str] = ""
    pack: ClassVar[str] = ""
    """Whose data ``context.data`` is; by default the name of the top-level module."""
    requires_user_confirmation: ClassVar[bool] = False
    confirmation_question: ClassVar[str | None] = None
    """Template, see ``prompts/template.py``."""

    time_limit_seconds: ClassVar[int] = DEFAULT_SECONDS
    """After which the model is told that it did not finish, unless the agent says otherwise; 1 to 300."""

    Arguments: ClassVar[type[BaseModel]] = FunctionArguments

    def __init__(self, context: FunctionContext) -> None:
        self.context = context

    @abstractmethod
    def handle(self, arguments: Any) -> str | FunctionResult:
        """Do it. ``arguments`` is an instance of ``Arguments``. Raises FunctionFailed."""

    def prompt_context(self) -> str:
        """Facts for every prompt that offers the function, read anew each time; nothing by default."""
        return ""


def pack_of(function: type[Function]) -> str:
    """The pack whose data the class works on."""
    return function.pack or function.__module__.partition(".")[0]


def agent_function(function: type[Function], **changes: Any) -> AgentFunction:
    """An agent's function with the class's own facts, and ``changes`` to them."""
    facts: dict[str, Any] = {
        "name": function.name,
        "description": function.description,
        "parameters": parameters_of(function.Arguments),
        "requires_user_confirmation": function.requires_user_confirmation,
        "confirmation_question": function.confirmation_question,
        "implementation": ClassFunction(class_name=function.name),
    }
    return AgentFunction.model_validate(facts | changes)
