"""Agents and their functions, as data that a project keeps in the store."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field, ValidationError, field_validator, model_validator

from parley.domain.faults import faults_in, refuse_unknown
from parley.domain.remote_functions import LONGEST_LIMIT, HttpFunction, LambdaFunction, McpFunction
from parley.domain.values import Value

DEFAULT_SYSTEM_PROMPT = "You are a helpful assistant."
NAME_PATTERN = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")

Identifier = Annotated[str, Field(pattern=NAME_PATTERN.pattern)]
MessagePolicy = Literal["supersede", "queue", "reject"]
ToolForm = Literal["native", "xml"]
"""How functions are offered, called and answered: the provider's own way where it has one, or as XML in text."""

WORKSPACE_FUNCTIONS = ("listFiles", "readFile", "writeFile")
IMAGE_FUNCTIONS = ("generateImage",)
KNOWLEDGE_FUNCTIONS = ("searchKnowledgeBase",)
MOST_FUNCTIONS = 128
"""What every provider with native calls takes in one request."""


class Capabilities(Value):
    """What a provider can do. Facts, by which prompts are built; never the provider's name."""

    supports_conversation: bool = True
    supports_system_messages: bool = True
    supports_tool_calls: bool = True
    supports_structured_output: bool = False
    custom_format: Literal["standard", "gemini"] = "standard"
    max_context_length: int | None = Field(default=None, ge=1)


class ClassFunction(Value):
    """Implemented by a registered function class of the same or another name."""

    kind: Literal["class"] = "class"
    class_name: str


class SubagentFunction(Value):
    """Answered by another agent in a subthread.

    ``subagent_user_message`` is a template over the arguments, such as ``"User wants to: {user_request}"``.
    """

    kind: Literal["subagent"] = "subagent"
    subagent_id: Identifier
    subagent_system_prompt: str | None = None
    subagent_user_message: str = "{user_request}"
    preserve_previous_context: bool = False


Implementation = Annotated[
    ClassFunction | SubagentFunction | HttpFunction | LambdaFunction | McpFunction,
    Field(discriminator="kind"),
]


class AgentFunction(Value):
    """One function that an agent may call. ``parameters`` is a JSON schema (object).

    What is None is taken from the function's class, where there is one. ``time_limit_seconds``: after which the model
    is told that it did not finish; a subagent has none.
    """

    name: Identifier
    description: str | None = None
    parameters: dict[str, Any] | None = None
    requires_user_confirmation: bool | None = None
    confirmation_question: str | None = None
    time_limit_seconds: int | None = Field(default=None, ge=1, le=LONGEST_LIMIT)
    implementation: Implementation

    def for_members(self) -> AgentFunction:
        """As people see it who do not own the project: without what may be a credential."""
        match self.implementation:
            case HttpFunction() | McpFunction() as addressed:
                return self.but(implementation=addressed.for_members())
            case ClassFunction() | SubagentFunction() | LambdaFunction():
                return self
            case _ as never:
                assert_never(never)

    @model_validator(mode="after")
    def _a_subagent_has_no_limit(self) -> AgentFunction:
        if self.time_limit_seconds is not None and isinstance(self.implementation, SubagentFunction):
            raise ValueError("time_limit_seconds: a subagent's calls have limits of their own, it has none")
        return self


class PredefinedMessage(Value):
    """A message that a person starts with a click; the model writes its content from ``prompt``."""

    id: Identifier
    title: str
    prompt: str


class Moderation(Value):
    """Whether the last user message is checked, by whom, and what a failing check means."""

    provider: str
    allow_on_failure: bool = False


class ImageModel(Value):
    """Who makes an agent's pictures, and how. What a provider has no word for is not sent.

    ``size`` in pixels, such as "1024x1024"; ``aspect_ratio`` such as "16:9"; ``settings`` are the provider's own.
    """

    provider: str
    model: str
    size: str | None = None
    aspect_ratio: str | None = None
    quality: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)


class Agent(Value):
    """An agent: a prompt, a model, functions and the rules of its conversations.

    ``workspace``: it sees the project's files and may list, read and (with confirmation) write them.
    ``images``: it may have pictures made. ``knowledge``: it may search the project's documents.
    """

    agent_id: Identifier
    name: str = Field(min_length=1, max_length=200)
    description: str = ""
    system_prompt: str = DEFAULT_SYSTEM_PROMPT
    provider: str
    model: str
    settings: dict[str, Any] = Field(default_factory=dict)
    capabilities: dict[str, Any] = Field(default_factory=dict)
    history_window: int = Field(default=20, ge=1, le=200)
    turns_per_run: int = Field(default=3, ge=1, le=50)
    inactivity_seconds: int = Field(default=3600, ge=1, le=2_592_000)
    confirmation_seconds: int = Field(default=86_400, ge=1, le=2_592_000)
    on_message_while_pending: MessagePolicy = "supersede"
    max_iterations: int = Field(default=10, ge=1, le=50)
    moderation: Moderation | None = None
    propose_actions: bool = False
    predefined_messages: tuple[PredefinedMessage, ...] = ()
    tool_form: ToolForm = "native"
    workspace: bool = False
    images: ImageModel | None = None
    knowledge: bool = False
    functions: tuple[AgentFunction, ...] = Field(default=(), max_length=MOST_FUNCTIONS)

    @field_validator("capabilities")
    @classmethod
    def _capabilities_are_known(cls, overrides: dict[str, Any]) -> dict[str, Any]:
        try:
            Capabilities.model_validate(overrides)
        except ValidationError as error:
            raise ValueError(faults_in(error.errors(include_url=False), overrides, {})) from None
        refuse_unknown(overrides, Capabilities.model_fields)
        return overrides

    @field_validator("functions")
    @classmethod
    def _names_are_unique(cls, functions: tuple[AgentFunction, ...]) -> tuple[AgentFunction, ...]:
        names = [function.name for function in functions]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"function names must differ; given twice: {', '.join(twice)}")
        return functions

    def function(self, name: str) -> AgentFunction | None:
        """The function of that name, if this agent has it."""
        return next((function for function in self.functions if function.name == name), None)

    def for_members(self) -> Agent:
        """As people see it who do not own the project."""
        return self.but(functions=tuple(function.for_members() for function in self.functions))

    def runtime_functions(self) -> tuple[str, ...]:
        """Names of the functions that the runtime brings for what is switched on."""
        return (
            (WORKSPACE_FUNCTIONS if self.workspace else ())
            + (IMAGE_FUNCTIONS if self.images else ())
            + (KNOWLEDGE_FUNCTIONS if self.knowledge else ())
        )

    def predefined_message(self, message_id: str) -> PredefinedMessage | None:
        """The predefined message of that id, if this agent has it."""
        return next((message for message in self.predefined_messages if message.id == message_id), None)
