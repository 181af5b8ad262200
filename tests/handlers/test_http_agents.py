"""Agents as people see them: what may be a credential is its owner's, and one that cannot be read hides no other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.domain import keys
from parley.turns.ports import Item
from tests.handlers.world import AGENT, MESSAGE, World

AGENTS = "/api/projects/{project}/agents"
KEYED = {
    "kind": "http",
    "url": "https://shop.example.com/{order_id}?key=hunter2&of={order_id}&hunter2",
    "headers": {"X-Api-Key": "hunter2", "X-Shop": "eu"},
    "secret": "SHOP_KEY",
}
PARAMETERS = {"type": "object", "properties": {"order_id": {"type": "string"}}}
TOOL = {"kind": "mcp", "url": "https://tools.example.com/mcp?token=hunter2", "tool": "look"}
FUNCTIONS = [
    {"name": "order", "parameters": PARAMETERS, "implementation": KEYED},
    {
        "name": "look",
        "description": "d",
        "parameters": PARAMETERS,
        "requires_user_confirmation": False,
        "implementation": TOOL,
    },
    {"name": "note", "implementation": {"kind": "class", "class_name": "note"}},
]


def put(world: World, body: dict[str, Any]) -> Any:
    return world.system.request("PUT", world.path(f"{AGENTS}/{body['agent_id']}"), body=body)


def test_what_may_be_a_credential_is_shown_to_owners_alone(world: World) -> None:
    made = put(world, {**AGENT, "functions": FUNCTIONS})
    assert made.status == 200, made.text
    path = world.path(AGENTS)
    mine = world.system.get(f"{path}/a1")
    assert mine == made.body
    assert mine["functions"][0]["implementation"]["headers"] == KEYED["headers"]
    assert put(world, mine).body == mine
    for user in ("colleague", "approver"):
        seen = world.system.request("GET", f"{path}/a1", user=user)
        listed = world.system.request("GET", path, user=user)
        assert seen.status == listed.status == 200
        assert "hunter2" not in seen.text + listed.text
        http, mcp, _ = (function["implementation"] for function in seen.body["functions"])
        assert http["headers"] == {"X-Api-Key": "[hidden]", "X-Shop": "[hidden]"}
        assert http["url"] == "https://shop.example.com/{order_id}?key=[hidden]&of={order_id}&[hidden]"
        assert mcp["url"] == "https://tools.example.com/mcp?token=[hidden]"
        assert seen.body["functions"][2] == mine["functions"][2]
        words = "functions.0: implementation: [hidden] is what members see in place of a value;"
        answer = world.refused(422, "invalid_request", "PUT", f"{AGENTS}/a1", body=seen.body)
        assert answer.body["error"]["message"].startswith(words)


FTP = {"name": "f", "implementation": {"kind": "http", "url": "ftp://x"}}
OLD = json.dumps({**AGENT, "agent_id": "old", "history_window": 0, "functions": [FTP]})


@pytest.fixture
def unreadable(world: World) -> World:
    """A project with an agent that an older release took and this one does not."""
    world.system.store.put(
        Item(keys.project_partition(world.system.project), keys.agent("old"), OLD), if_version=0
    )
    return world


WORDS = (
    "The agent old cannot be read: history_window: must be at least 1, not 0; functions.0.implementation.url: "
    "must be an address such as https://tools.example.com/orders. "
    "An owner of the project has to put it again."
)


def test_an_agent_that_cannot_be_read_is_told_beside_the_others_and_can_be_put_again(
    unreadable: World,
) -> None:
    world = unreadable
    listed = world.system.get(world.path(AGENTS))
    assert "talker" in {agent["agent_id"] for agent in listed["agents"]}
    assert listed["unreadable"] == [{"agent_id": "old", "fault": WORDS}]
    mine = world.refused(409, "agent_unreadable", "GET", f"{AGENTS}/old")
    assert mine.body["error"] == {"type": "agent_unreadable", "message": WORDS, "stored": OLD}
    theirs = world.refused(409, "agent_unreadable", "GET", f"{AGENTS}/old", user="colleague")
    assert "stored" not in theirs.body["error"]
    chat = world.refused(409, "agent_unreadable", "POST", f"{AGENTS}/old/chat", body=MESSAGE)
    assert chat.body["error"] == {"type": "agent_unreadable", "message": WORDS}
    assert put(world, {**json.loads(OLD), "history_window": 5, "functions": []}).status == 200
    assert world.system.get(world.path(AGENTS))["unreadable"] == []
