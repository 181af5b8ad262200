"""Routes of projects, members, agents and providers, and of socket tickets."""

from __future__ import annotations

from typing import Annotated, Any, get_args

from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import Field, ValidationInfo, field_validator, model_validator

from on_http.answers import Name, Written
from on_http.resolver import current_user
from parley import wiring
from parley.domain.agents import (
    MOST_FUNCTIONS,
    NAME_PATTERN,
    Agent,
    AgentFunction,
    ImageModel,
    Implementation,
    Moderation,
    PredefinedMessage,
)
from parley.domain.errors import InvalidRequest
from parley.domain.faults import refuse_unknown
from parley.domain.remote_functions import HIDDEN
from parley.domain.values import Value
from parley.turns import agents, projects
from parley.turns.projects import Member, Project
from parley.turns.sockets import ticket_answer

router = Router()  # type: ignore[no-untyped-call]
AGENTS = "/api/projects/<project>/agents"
_KINDS: dict[Any, type[Value]] = {
    each.model_fields["kind"].default: each for each in get_args(get_args(Implementation)[0])
}
_PARTS: dict[str, type[Value]] = {"moderation": Moderation, "images": ImageModel}
AgentId = Annotated[str, Path(pattern=NAME_PATTERN.pattern)]


class NewProject(Written):
    """A project's name."""

    name: str = Field(min_length=1, max_length=200)


class FunctionInput(AgentFunction, Written):
    """A function as a person writes it."""

    @field_validator("implementation", mode="before")
    @classmethod
    def _its_fields_are_known(cls, given: Any) -> Any:
        if isinstance(given, dict) and (kind := _KINDS.get(str(given.get("kind")))):
            refuse_unknown(given, kind.model_fields)
        return given

    @model_validator(mode="after")
    def _nothing_stands_for_what_is_hidden(self) -> FunctionInput:
        if HIDDEN in self.model_dump_json(include={"implementation"}):
            words = f"{HIDDEN} is what members see in place of a value; an owner's GET has the value itself"
            raise ValueError(f"implementation: {words}")
        return self


class PredefinedInput(PredefinedMessage, Written):
    """A predefined message as a person writes it."""

    title: str = Field(min_length=1, max_length=200)
    prompt: str = Field(min_length=1)


class AgentInput(Agent, Written):
    """An agent as a person writes it."""

    model: str = Field(min_length=1)
    predefined_messages: tuple[PredefinedInput, ...] = ()
    functions: tuple[FunctionInput, ...] = Field(default=(), max_length=MOST_FUNCTIONS)

    @field_validator("moderation", "images", mode="before")
    @classmethod
    def _fields_of_parts_are_known(cls, given: Any, info: ValidationInfo) -> Any:
        if isinstance(given, dict):
            refuse_unknown(given, _PARTS[str(info.field_name)].model_fields)
        return given

    @field_validator("predefined_messages")
    @classmethod
    def _ids_differ(cls, messages: tuple[PredefinedInput, ...]) -> tuple[PredefinedInput, ...]:
        ids = [message.id for message in messages]
        if twice := sorted({each for each in ids if ids.count(each) > 1}):
            raise ValueError(f"their ids must differ; given twice: {', '.join(twice)}")
        return messages


class MemberInput(Member, Written):
    """A membership as a person writes it."""


@router.post("/api/projects", tags=["projects"])
def create_project(project: NewProject) -> Project:
    """Create a project; the caller becomes its owner."""
    return projects.create_project(wiring.runtime(), current_user(), project.name)


@router.put("/api/projects/<project>/members/<user>", tags=["projects"])
def put_member(project: Name, user: Name, member: MemberInput) -> Member:
    """Give a user a role in a project; owners only."""
    projects.require_owner(wiring.runtime(), current_user(), project)
    return projects.set_member(wiring.runtime(), project, user, member.role)


@router.get(AGENTS, tags=["agents"])
def list_agents(project: Name) -> dict[str, Any]:
    """The project's agents with their functions, predefined messages and the caller's last use.

    Their prompts and settings, which may be long, come with the single agent. `unreadable` names agents that have to
    be put again, and why.
    """
    return agents.list_agents(wiring.runtime(), current_user(), project)


@router.get(f"{AGENTS}/<agent>", tags=["agents"])
def get_agent(project: Name, agent: AgentId) -> Agent:
    """An agent; values of its functions' headers and queries for owners only."""
    return agents.show_agent(wiring.runtime(), current_user(), project, agent)


@router.put(f"{AGENTS}/<agent>", tags=["agents"])
def put_agent(project: Name, agent: AgentId, body: AgentInput) -> Agent:
    """Add or replace an agent; owners only."""
    projects.require_owner(wiring.runtime(), current_user(), project)
    if body.agent_id != agent:
        raise InvalidRequest("invalid_request", f"agent_id: must be {agent}, as in the path.")
    return agents.put_agent(wiring.runtime(), project, Agent.model_validate(body.model_dump()))


@router.get("/api/providers", tags=["agents"])
def providers() -> dict[str, Any]:
    """Each provider's capabilities and whether it is configured."""
    known = wiring.runtime().providers
    found = [known.get(name) for name in known.names()]
    return {
        "providers": [
            {
                "name": provider.name,
                "configured": provider.is_configured(),
                "capabilities": provider.capabilities().model_dump(),
            }
            for provider in found
        ]
    }


@router.post("/api/socket-tickets", tags=["sockets"])
def socket_ticket() -> dict[str, str]:
    """A one-use ticket for the WebSocket API, valid for 60 s; `url`: where, if not at `/ws` of this address."""
    return ticket_answer(wiring.runtime(), current_user())
