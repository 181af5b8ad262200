"""Projects: who manages them, and how large an agent may be."""

from __future__ import annotations

import pytest

from parley.domain.errors import Conflict, InvalidRequest
from parley.turns import agents, projects
from parley.turns.agents import AGENT_BYTES
from parley.turns.projects import Role
from tests.faults.world import World


@pytest.mark.parametrize("role", [Role.MEMBER, Role.APPROVER])
def test_the_only_owner_stays_one_until_there_is_another(world: World, role: Role) -> None:
    with pytest.raises(Conflict) as refused:
        projects.set_member(world.runtime, "shop", "ann", role)
    assert refused.value.type == "last_owner"
    assert projects.require_member(world.runtime, "ann", "shop") is Role.OWNER
    projects.set_member(world.runtime, "shop", "bob", Role.OWNER)
    assert projects.set_member(world.runtime, "shop", "ann", role).role is role


def test_an_agent_has_a_largest_size(world: World) -> None:
    agent = projects.read_agent(world.runtime, "shop", "helper")
    with pytest.raises(InvalidRequest, match=f"{AGENT_BYTES:,}"):
        agents.put_agent(world.runtime, "shop", agent.but(system_prompt="x" * AGENT_BYTES))
    assert projects.read_agent(world.runtime, "shop", "helper") == agent
