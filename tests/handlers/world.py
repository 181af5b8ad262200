"""A project in which every kind of thing exists once, so that a refused request could have harmed it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from parley.domain import keys
from parley.tools.function import agent_function
from parley.turns.projects import Role
from tests.support.client import Answer
from tests.support.systems import Note, System

CHAT = "/api/projects/{project}/agents/{agent}/chat"
THREAD = "/api/projects/{project}/chat-threads/{thread}"
CONFIRM = "/confirmations/{proposal}"
AGENT = {"agent_id": "a1", "name": "A", "provider": "scripted", "model": "demo"}
MESSAGE = {"message": "hello"}


class World:
    """Sends requests that must be refused, and sees that nothing came of them."""

    def __init__(self, system: System) -> None:
        self.system = system
        system.member("colleague")
        system.member("approver", Role.APPROVER)
        system.member("second-owner", Role.OWNER)
        asks = agent_function(Note, requires_user_confirmation=True)
        note = {"name": "note", "arguments": {"text": "milk"}}
        system.agent(functions=[asks], script=[{"when": "note", "tool_calls": [note]}])
        self.thread = system.start("hello", "talker")
        system.rest(self.thread)
        self.asking = system.start("note it", "talker")
        (self.proposal,) = system.pending(self.asking)
        system.wait_until(self._asked, "the question is the last thing that its task writes")
        created = system.post("/api/projects", {"name": "Elsewhere"}, user="stranger")
        self.elsewhere = created["project_id"]

    def _asked(self) -> bool:
        return self.system.events(self.asking)[-1]["event"] == "ActionRequiresConfirmation"

    def path(self, template: str) -> str:
        """``{project}``, ``{thread}`` and so on filled in."""
        return template.format(
            project=self.system.project,
            agent="talker",
            thread=self.thread,
            proposal=self.proposal["proposal_id"],
            elsewhere=self.elsewhere,
            unknown=uuid.uuid4(),
        )

    def join_elsewhere(self) -> None:
        """Make ``dev`` a member of the stranger's project too."""
        members = self.path("/api/projects/{elsewhere}/members/dev")
        answer = self.system.request("PUT", members, body={"role": "owner"}, user="stranger")
        assert answer.status == 200, answer.text

    def listed(self, user: str, project: str = "{project}") -> list[Any]:
        """The threads that a user's list shows."""
        path = self.path(f"/api/projects/{project}/chat-threads")
        answer = self.system.request("GET", path, user=user)
        assert answer.status == 200, answer.text
        return list(answer.body["threads"])

    @contextmanager
    def not_a_member(self, user: str) -> Iterator[None]:
        """The user's membership of the project is taken away, and given back."""
        store, place = self.system.store, (keys.project_partition(self.system.project), keys.member(user))
        membership = store.get(*place)
        store.delete(*place)
        try:
            yield
        finally:
            store.put(membership, if_version=0)

    def items(self) -> list[tuple[Any, ...]]:
        """Everything stored, with versions."""
        query = "SELECT partition, sort, version FROM items ORDER BY partition, sort"
        return list(self.system.store._database.read(lambda connection: connection.execute(query).fetchall()))

    def refused(self, status: int, error: str, method: str, path: str, **request: Any) -> Answer:
        """Send a request; it must be refused so, in the one form, and change nothing."""
        before = self.items()
        answer = self.system.request(method, self.path(path), **request)
        assert (answer.status, answer.error) == (status, error), answer.text
        assert set(answer.body["error"]) >= {"type", "message"}
        assert answer.body["error"]["message"]
        assert self.items() == before
        return answer
