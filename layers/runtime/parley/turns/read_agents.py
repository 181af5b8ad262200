"""A project's agents as people see them: what may be a credential is for owners alone, no agent hides the others."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.agents import Agent
from parley.domain.conversation import Conversation
from parley.domain.errors import Conflict
from parley.turns.projects import AgentUse, Role, read_agent, ready_agent, require_member
from parley.turns.records import blob_key, parse
from parley.turns.runtime import Runtime

AGENT_LIMIT = 200
LATEST_THREADS = 20


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
