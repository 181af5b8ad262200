"""A project in which every kind of thing exists once, so that a refused request could have harmed it."""

from __future__ import annotations

import uuid
from typing import Any

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
