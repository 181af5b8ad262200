"""A client that has followed the conversation from its start, over a socket that it sometimes loses.

It applies events by ``seq``, drops what it has, and asks for what is missing: as the page and the command line do.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.client import Client


class Follower:
    """``events`` are those applied, in order."""

    def __init__(self, client: Client) -> None:
        self.events: list[dict[str, Any]] = []
        self.differing: list[str] = []
        self._client = client
        self._thread = ""
        self._ahead: dict[int, dict[str, Any]] = {}

    def take(self, frame: str) -> None:
        """A frame arrived: next, old, or ahead of what is here."""
        event = json.loads(frame)
        if "seq" not in event:
            return
        self._thread = self._thread or event["thread_id"]
        seq = event["seq"]
        if seq <= len(self.events):
            self._compare(self.events[seq - 1], event)
            return
        self._ahead[seq] = event
        while following := self._ahead.pop(len(self.events) + 1, None):
            self.events.append(following)

    def catch_up(self) -> None:
        """The connection is new: what is missing comes from the log."""
        if not self._thread:
            return
        path = self._client.of_thread(self._thread, "/events")
        while page := self._client.get(path, after=len(self.events), limit=1000)["events"]:
            for event in page:
                early = self._ahead.pop(event["seq"], None)
                if early is not None:
                    self._compare(early, event)
                self.events.append(event)

    def _compare(self, mine: dict[str, Any], other: dict[str, Any]) -> None:
        """The same ``seq`` is the same event for ever; a large one comes as a reference."""
        references = any("$ref" in event["data"] for event in (mine, other))
        same = {**mine, "data": {}} == {**other, "data": {}} if references else mine == other
        if not same:
            self.differing.append(f"seq {mine['seq']}: {mine} and {other}")
