"""Projects, their members and agents, and who may see what."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache

from pydantic import Field, ValidationError

from parley.domain import keys
from parley.domain.agents import Agent, AgentFunction, ClassFunction, SubagentFunction
from parley.domain.conversation import Conversation
from parley.domain.errors import (
    Conflict,
    NotFound,
    Refusal,
)
from parley.domain.faults import faults_in
from parley.domain.values import Value
from parley.turns import conversations
from parley.turns.function_ports import Functions, FunctionSpec
from parley.turns.ports import ConditionFailed, Item
from parley.turns.records import Stored, load, parse, put, whole_body
from parley.turns.runtime import Runtime

MEMBER_LIMIT = 10_000
NO_PARAMETERS = {"type": "object", "properties": {}}


class Role(StrEnum):
    """A member's role. Owners manage members and agents; approvers see and decide what waits in the project."""

    OWNER = "owner"
    MEMBER = "member"
    APPROVER = "approver"


class Project(Value):
    """A project as it is answered."""

    project_id: str
    name: str = Field(min_length=1, max_length=200)


class Member(Value):
    """A user's membership."""

    role: Role


class AgentUse(Value):
    """When a user last used an agent, epoch seconds."""

    at: float


def not_found(what: str) -> NotFound:
    """The one answer for what is not there and what is not the caller's."""
    return NotFound("not_found", f"There is no such {what}.")


def require_member(runtime: Runtime, user_id: str, project_id: str) -> Role:
    """The caller's role. Raises NotFound for a project that is not theirs."""
    found = load(runtime, keys.project_partition(project_id), keys.member(user_id), Member)
    if found is None:
        raise not_found("project")
    return found.value.role


def require_owner(runtime: Runtime, user_id: str, project_id: str) -> None:
    """Raises NotFound unless the caller owns the project."""
    if require_member(runtime, user_id, project_id) is not Role.OWNER:
        raise NotFound("not_found", "Only an owner of this project can do that.")


def require_thread(runtime: Runtime, user_id: str, project_id: str, thread_id: str) -> Stored[Conversation]:
    """The caller's own thread. Raises NotFound otherwise."""
    require_member(runtime, user_id, project_id)
    stored = conversations.find(runtime, thread_id)
    if stored is None or (stored.value.user_id, stored.value.project_id) != (user_id, project_id):
        raise not_found("thread")
    return stored


def create_project(runtime: Runtime, user_id: str, name: str) -> Project:
    """A new project, owned by its creator."""
    project = Project(project_id=uuid.uuid4().hex[:12], name=name)
    partition = keys.project_partition(project.project_id)
    put(runtime, partition, keys.member(user_id), Member(role=Role.OWNER), if_version=0)
    put(runtime, partition, keys.PROJECT, project, if_version=0)
    return project


def has_project(runtime: Runtime, project_id: str) -> bool:
    """Whether there is a project of that id."""
    return runtime.store.get(keys.project_partition(project_id), keys.PROJECT) is not None


def ensure_project(runtime: Runtime, project: Project) -> bool:
    """Make a project of a known id, unless it is there. Returns whether it was made."""
    try:
        put(runtime, keys.project_partition(project.project_id), keys.PROJECT, project, if_version=0)
    except ConditionFailed:
        return False
    return True


def set_member(runtime: Runtime, project_id: str, user_id: str, role: Role) -> Member:
    """Give a user a role. Raises Conflict (``last_owner``) for what would leave nobody to manage the project."""
    partition = keys.project_partition(project_id)
    if role is not Role.OWNER:
        items = runtime.store.query(partition, keys.MEMBERS, limit=MEMBER_LIMIT)
        owners = [item.sort for item in items if parse(runtime, item, Member).value.role is Role.OWNER]
        if owners == [keys.member(user_id)]:
            raise Conflict("last_owner", "This is the project's only owner; make somebody else one first.")
    member = Member(role=role)
    put(runtime, partition, keys.member(user_id), member, if_version=None)
    return member


def ensure_member(runtime: Runtime, project_id: str, user_id: str, role: Role) -> None:
    """Give a user a role, unless they have one."""
    try:
        put(
            runtime, keys.project_partition(project_id), keys.member(user_id), Member(role=role), if_version=0
        )
    except ConditionFailed:
        return


def read_agent(runtime: Runtime, project_id: str, agent_id: str) -> Agent:
    """An agent as it was put. Raises NotFound, and Conflict (``agent_unreadable``)."""
    item = runtime.store.get(keys.project_partition(project_id), keys.agent(agent_id))
    if item is None:
        raise not_found("agent")
    return _parsed(runtime, item, Agent.model_validate_json)


def get_agent(runtime: Runtime, project_id: str, agent_id: str) -> Agent:
    """An agent ready to work: what its functions leave open is taken from their classes. Raises as ``read_agent``."""
    item = runtime.store.get(keys.project_partition(project_id), keys.agent(agent_id))
    if item is None:
        raise not_found("agent")
    return ready_agent(runtime, item)


def agent_to_stop(runtime: Runtime, project_id: str, agent_id: str) -> Agent:
    """``get_agent``, or what stands for it: a turn ends although its agent can be read no more."""
    try:
        return get_agent(runtime, project_id, agent_id)
    except Refusal:
        return Agent(agent_id=agent_id, name=agent_id, provider="", model="")


def ready_agent(runtime: Runtime, item: Item) -> Agent:
    """``get_agent`` of an item that was read."""
    return _parsed(runtime, item, lambda body: _ready_agent(runtime.functions, body))


def _parsed(runtime: Runtime, item: Item, read: Callable[[str], Agent]) -> Agent:
    """What an older release accepted, this one may not: whoever meets it hears what to do."""
    try:
        body = whole_body(runtime, item)
        return read(body)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        fault = faults_in(faults, None if faults[0]["type"] == "json_invalid" else json.loads(body), {})
    except LookupError:
        fault = "its stored text is gone"
    name = item.sort.removeprefix(keys.AGENTS)
    words = f"The agent {name} cannot be read: {fault}. An owner of the project has to put it again."
    raise Conflict("agent_unreadable", words)


@lru_cache(maxsize=256)
def _ready_agent(functions: Functions, body: str) -> Agent:
    """Every task of a turn wants the same agent: it is read each time, and put together once per text."""
    return with_class_facts(functions, Agent.model_validate_json(body))


def with_class_facts(functions: Functions, agent: Agent) -> Agent:
    """The agent as it works: the runtime's functions that it has switched on beside its own (one of its own of the
    same name wins), and description, parameters and confirmation of all filled in from their classes.
    """
    brought = [
        AgentFunction(name=name, implementation=ClassFunction(class_name=name))
        for name in agent.runtime_functions()
        if agent.function(name) is None and functions.spec(name) is not None
    ]
    return agent.but(functions=tuple(_filled(functions, each) for each in (*agent.functions, *brought)))


def _filled(functions: Functions, function: AgentFunction) -> AgentFunction:
    implementation = function.implementation
    spec = None
    if isinstance(implementation, ClassFunction):
        spec = functions.spec(implementation.class_name)
    if spec is None:
        spec = FunctionSpec(
            "", "", NO_PARAMETERS, requires_user_confirmation=False, confirmation_question=None
        )
    return function.but(
        description=spec.description if function.description is None else function.description,
        parameters=spec.parameters if function.parameters is None else function.parameters,
        requires_user_confirmation=spec.requires_user_confirmation
        if function.requires_user_confirmation is None
        else function.requires_user_confirmation,
        confirmation_question=function.confirmation_question or spec.confirmation_question,
        time_limit_seconds=_limit(function, spec),
    )


def _limit(function: AgentFunction, spec: FunctionSpec) -> int | None:
    """A subagent's calls have limits of their own."""
    if isinstance(function.implementation, SubagentFunction):
        return None
    return spec.time_limit_seconds if function.time_limit_seconds is None else function.time_limit_seconds


def note_use(runtime: Runtime, project_id: str, user_id: str, agent_id: str) -> None:
    """Record that the user started a conversation with the agent now."""
    use = AgentUse(at=runtime.clock.now())
    put(runtime, keys.project_partition(project_id), keys.agent_use(user_id, agent_id), use, if_version=None)
