"""A project's agents as people put and see them.

An agent is checked whole when it is put. What may be a credential is shown to owners alone, and one that cannot be read
hides no others.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from parley.domain import keys
from parley.domain.agents import MOST_FUNCTIONS, Agent, AgentFunction, SubagentFunction
from parley.domain.conversation import Conversation
from parley.domain.errors import Conflict, InvalidRequest, ProviderNotConfigured, ProviderRejectedRequest
from parley.domain.faults import faults_in
from parley.turns.projects import (
    AgentUse,
    Role,
    read_agent,
    ready_agent,
    require_member,
    with_class_facts,
)
from parley.turns.records import blob_key, parse, put
from parley.turns.runtime import Runtime

AGENT_BYTES = 200_000
"""Largest agent, as JSON: an answer of Lambda's holds 6 MB."""
AGENT_LIMIT = 200
LATEST_THREADS = 20


def put_agent(runtime: Runtime, project_id: str, agent: Agent) -> Agent:
    """Add or replace an agent; as it is kept, with what its MCP servers know of their tools.

    Raises InvalidRequest if it names what is not there.
    """
    if agent.provider not in runtime.providers.names():
        known = ", ".join(runtime.providers.names())
        raise InvalidRequest("invalid_request", f"provider: {agent.provider} is not one of {known}.")
    try:
        runtime.providers.check_settings(agent.provider, agent.settings)
    except ProviderRejectedRequest as error:
        raise InvalidRequest("invalid_request", f"{error.message}.") from None
    _require_helpers(runtime, agent)
    _require_subagents(runtime, project_id, agent)
    _require_size(agent)  # before its schemas are looked at, which takes its time
    agent = _with(agent, runtime.functions.settled(project_id, agent.functions))
    _require_size(agent)
    if len(with_class_facts(runtime.functions, agent).functions) > MOST_FUNCTIONS:
        words = f"functions: at most {MOST_FUNCTIONS}, those of workspace, images and knowledge included."
        raise InvalidRequest("invalid_request", words)
    put(runtime, keys.project_partition(project_id), keys.agent(agent.agent_id), agent, if_version=None)
    return agent


def _require_size(agent: Agent) -> None:
    size = len(agent.model_dump_json().encode())
    if size > AGENT_BYTES:
        raise InvalidRequest(
            "invalid_request", f"The agent has {size:,} bytes; at most {AGENT_BYTES:,} are kept."
        )


def _require_helpers(runtime: Runtime, agent: Agent) -> None:
    """Who makes the agent's pictures and checks its messages has to be able to."""
    field = ""
    try:
        if agent.images is not None:
            field = "images"
            runtime.providers.image_maker(agent.images.provider)
        if agent.moderation is not None:
            field = "moderation"
            runtime.providers.moderator(agent.moderation.provider)
    except ProviderNotConfigured as error:
        raise InvalidRequest("invalid_request", f"{field}.provider: {error.message}.") from None


def _require_subagents(runtime: Runtime, project_id: str, agent: Agent) -> None:
    for function in agent.functions:
        implementation = function.implementation
        if not isinstance(implementation, SubagentFunction) or implementation.subagent_id == agent.agent_id:
            continue
        name = implementation.subagent_id
        if runtime.store.get(keys.project_partition(project_id), keys.agent(name)) is None:
            words = f"functions: {function.name}: this project has no agent {name}; put that one first."
            raise InvalidRequest("invalid_request", words)


def _with(agent: Agent, functions: tuple[AgentFunction, ...]) -> Agent:
    """The agent with these functions; among those of a server there may be more, and names twice."""
    if functions == agent.functions:
        return agent
    try:
        return Agent.model_validate({**agent.model_dump(), "functions": functions})
    except ValidationError as error:
        words = faults_in(error.errors(include_url=False), None, {})
        raise InvalidRequest("invalid_request", f"{words}.") from None


def list_agents(runtime: Runtime, user_id: str, project_id: str) -> dict[str, Any]:
    """All agents, by id, ready to work, with the caller's last use; ``unreadable``: which ones cannot be read, and why.

    Their prompts and settings, which may be long, come with the single agent.
    """
    owner = require_member(runtime, user_id, project_id) is Role.OWNER
    items = runtime.store.query(keys.project_partition(project_id), keys.AGENTS, limit=AGENT_LIMIT)
    uses = _last_uses(runtime, project_id, user_id)
    agents: list[dict[str, Any]] = []
    unreadable: list[dict[str, str]] = []
    for item in items:
        agent_id = item.sort.removeprefix(keys.AGENTS)
        try:
            agent = ready_agent(runtime, item)
        except Conflict as fault:
            unreadable.append({"agent_id": agent_id, "fault": fault.message})
            continue
        seen = agent if owner else agent.for_members()
        shown = seen.model_dump(mode="json", exclude={"system_prompt", "settings"})
        agents.append({**shown, "last_used_at": uses.get(agent_id)})
    return {"agents": agents, "unreadable": unreadable}


def show_agent(runtime: Runtime, user_id: str, project_id: str, agent_id: str) -> Agent:
    """An agent as it was put. Raises NotFound, and Conflict for one that cannot be read.

    An owner finds in its ``stored`` what they have to mend.
    """
    owner = require_member(runtime, user_id, project_id) is Role.OWNER
    try:
        agent = read_agent(runtime, project_id, agent_id)
    except Conflict as fault:
        item = runtime.store.get(keys.project_partition(project_id), keys.agent(agent_id))
        if not owner or item is None or blob_key(item.body):
            raise
        raise Conflict(fault.type, fault.message, stored=item.body) from None
    return agent if owner else agent.for_members()


def _last_uses(runtime: Runtime, project_id: str, user_id: str) -> dict[str, float]:
    """Agent id to the time of the user's last use: of the last message in one of their latest threads, or of the
    start of an older one. Messages record nothing for it.
    """
    prefix = keys.agent_use(user_id, "")
    items = runtime.store.query(keys.project_partition(project_id), prefix, limit=AGENT_LIMIT)
    uses = {item.sort.removeprefix(prefix): parse(runtime, item, AgentUse).value.at for item in items}
    threads = runtime.store.query_index(
        "listed", keys.listed_threads(user_id, project_id), limit=LATEST_THREADS, descending=True
    )
    for item in threads:
        thread = Conversation.model_validate_json(item.body)
        uses[thread.agent_id] = max(thread.active_at, uses.get(thread.agent_id, 0.0))
    return uses
