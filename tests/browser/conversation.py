"""A conversation that somebody holds over HTTP while a page looks on, or before it does."""

from __future__ import annotations

from typing import Any

import httpx

from tests.support.served import until


class Conversation:
    """One of the client's user in the project `demo`; opened by its first message."""

    def __init__(
        self, client: httpx.Client, message: str, agent: str = "general-assistant", **wishes: Any
    ) -> None:
        self._client = client
        path = f"/api/projects/demo/agents/{agent}/chat"
        accepted = client.post(path, json={"message": message, **wishes}).raise_for_status().json()
        self.id = str(accepted["thread_id"])
        self.path = f"/api/projects/demo/chat-threads/{self.id}"

    def say(self, message: str) -> None:
        """One more message."""
        self._client.post(self.path, json={"message": message}).raise_for_status()

    def finish(self, turns: int) -> None:
        """Wait until so many turns are over."""
        until(lambda: self._client.get(self.path).json()["turns"] == turns)

    def pending(self) -> dict[str, Any]:
        """The action that waits, once one does."""
        proposal: dict[str, Any] = until(lambda: self._client.get(self.path).json()["pending"])[0]
        return proposal

    def decide(self, approved: bool) -> None:
        """Decide the action that waits, once one does."""
        path = f"/confirmations/{self.pending()['proposal_id']}"
        self._client.post(path, json={"approved": approved}).raise_for_status()

    def events(self) -> list[dict[str, Any]]:
        """The log so far, at most its first 1,000 events."""
        answer = self._client.get(f"{self.path}/events", params={"limit": 1000}).raise_for_status()
        events: list[dict[str, Any]] = answer.json()["events"]
        return events
