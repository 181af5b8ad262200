"""What is not there and what is not the caller's are answered alike: 404, and nothing has changed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.handlers.world import AGENT, CHAT, CONFIRM, MESSAGE, THREAD, World


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/", None),
        ("GET", "/api", None),
        ("GET", "/api/projects/{project}/nothing", None),
        ("GET", f"{THREAD}/nothing", None),
        ("DELETE", THREAD, None),
        ("PUT", THREAD, MESSAGE),
        ("POST", "/api/projects/{project}/agents//chat", MESSAGE),
        ("POST", "/api/projects/{project}/agents/nobody/chat", MESSAGE),
        ("POST", "/api/projects/{project}/agents/" + "x" * 200 + "/chat", MESSAGE),
        ("POST", "/api/projects/nothing/agents/{agent}/chat", MESSAGE),
        ("POST", "/api/projects/{project}/chat-threads/{unknown}", MESSAGE),
        ("POST", "/api/projects/{elsewhere}/chat-threads/{thread}", MESSAGE),
        ("POST", "/api/projects/{project}/chat-threads/{unknown}/cancel", None),
        ("GET", "/api/projects/{project}/chat-threads/{unknown}", None),
        ("GET", "/api/projects/{project}/agents/nobody", None),
        ("GET", f"{THREAD}/replies/7", None),
        ("GET", f"{THREAD}/runs/7", None),
        ("POST", "/confirmations/{unknown}", {"approved": True}),
        ("POST", "/confirmations/x", {"approved": True}),
    ],
)
def test_what_is_not_there_is_not_found(world: World, method: str, path: str, body: Any) -> None:
    world.refused(404, "not_found", method, path, body=body)


def test_a_subthread_that_is_not_there_is_not_found(world: World) -> None:
    world.refused(404, "not_found", "GET", f"{THREAD}/messages", query={"subthread": "nothing"})


OF_THE_PROJECT = [
    ("GET", "/api/projects/{project}/chat-threads", None),
    ("GET", "/api/projects/{project}/confirmations", None),
    ("GET", "/api/projects/{project}/agents", None),
    ("GET", "/api/projects/{project}/agents/{agent}", None),
    ("POST", CHAT, MESSAGE),
]
OF_THE_THREAD = [
    ("POST", THREAD, MESSAGE),
    ("GET", THREAD, None),
    ("GET", f"{THREAD}/messages", None),
    ("GET", f"{THREAD}/events", None),
    ("GET", f"{THREAD}/replies/1", None),
    ("GET", f"{THREAD}/runs", None),
    ("GET", f"{THREAD}/runs/1", None),
    ("POST", f"{THREAD}/cancel", None),
]
OF_THE_OWNER = [
    ("PUT", "/api/projects/{project}/members/eve", {"role": "owner"}),
    ("PUT", "/api/projects/{project}/agents/a1", AGENT),
]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [*OF_THE_PROJECT, *OF_THE_THREAD, *OF_THE_OWNER, ("POST", CONFIRM, {"approved": True})],
)
def test_a_stranger_finds_nothing(world: World, method: str, path: str, body: Any) -> None:
    world.refused(404, "not_found", method, path, body=body, user="stranger")


@pytest.mark.parametrize("user", ["colleague", "approver"])
@pytest.mark.parametrize(("method", "path", "body"), [*OF_THE_THREAD, *OF_THE_OWNER])
def test_members_find_neither_each_others_threads_nor_the_owners_doors(
    world: World, user: str, method: str, path: str, body: Any
) -> None:
    world.refused(404, "not_found", method, path, body=body, user=user)


@pytest.mark.parametrize("user", ["colleague", "approver", "second-owner"])
def test_members_do_not_see_each_others_threads_in_their_lists(world: World, user: str) -> None:
    assert world.listed(user) == []


def test_threads_are_not_listed_in_another_project_of_their_owner(world: World) -> None:
    world.join_elsewhere()
    assert len(world.listed("dev")) == 2
    assert world.listed("dev", "{elsewhere}") == []


@pytest.mark.parametrize(("method", "path", "body"), OF_THE_THREAD)
def test_who_is_no_member_any_more_finds_not_even_their_own_threads(
    world: World, method: str, path: str, body: Any
) -> None:
    with world.not_a_member("dev"):
        world.refused(404, "not_found", method, path, body=body)


@pytest.mark.parametrize("user", ["colleague", "second-owner"])
def test_who_neither_asked_nor_approves_sees_and_decides_nothing(world: World, user: str) -> None:
    path = world.path("/api/projects/{project}/confirmations")
    assert world.system.request("GET", path, user=user).body == {"confirmations": []}
    world.refused(404, "not_found", "POST", CONFIRM, body={"approved": True}, user=user)


@pytest.mark.parametrize(("method", "path", "body"), OF_THE_THREAD)
def test_a_thread_is_not_found_in_another_project_of_its_owner(
    world: World, method: str, path: str, body: Any
) -> None:
    world.join_elsewhere()
    world.refused(404, "not_found", method, path.replace("{project}", "{elsewhere}"), body=body)
