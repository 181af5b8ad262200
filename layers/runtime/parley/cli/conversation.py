"""Holding a conversation from the terminal: send, show what happens, decide what is asked, until the reply.

`Conversation` knows the order of things, a `Person` answers: one that reads the terminal, or a script.
"""

from __future__ import annotations

import threading
from typing import Any, Protocol

from parley.cli.api import Api, Thread, segment
from parley.cli.failure import CommandFailed, Refused
from parley.cli.feed import Event, Feed
from parley.cli.interrupts import Interrupts
from parley.cli.transcript import Transcript

_PATIENCE_SECONDS = 0.25
_REST_TRIES = 20
_REST_PAUSE_SECONDS = 0.1


class Person(Protocol):
    """Who decides about proposed actions."""

    def decide(self, transcript: Transcript, proposal: dict[str, Any], indent: int) -> bool:
        """Whether to approve; shows the question and the answer."""
        ...


class Conversation:
    """One conversation with one agent: a new one, begun by the first message.

    `silence_seconds` without any event, while nobody is being asked, mean that the reply does not come.
    """

    def __init__(
        self,
        api: Api,
        feed: Feed,
        transcript: Transcript,
        person: Person,
        *,
        project: str,
        agent: str,
        terms: dict[str, int],
        silence_seconds: float,
    ) -> None:
        self._api = api
        self._feed = feed
        self._transcript = transcript
        self._person = person
        self._project = project
        self._agent = agent
        self._terms = terms
        self._silence_seconds = silence_seconds
        self.thread: Thread | None = None
        self.completed = False

    def send(self, text: str, *, typed: bool = False) -> bool:
        """Send a message and follow its turn to the end. Whether it got its reply.

        Ctrl-C cancels the turn. Raises CommandFailed if the server does not take the message.
        """
        message_id = self._post(text)
        if typed:
            self._transcript.typed(message_id)
        with Interrupts() as interrupts:
            return self._follow(message_id, interrupts)

    def chain(self) -> list[dict[str, Any]]:
        """The chain of runs, as it stands once the last one has come to rest after its turn."""
        if self.thread is None:
            return []
        runs: list[dict[str, Any]] = []
        for _ in range(_REST_TRIES):
            runs = self._api.get(self.thread / "runs")["runs"]
            moving = {"running", "waiting"} if self.completed else {"running"}
            if not runs or runs[-1]["status"] not in moving:
                break
            threading.Event().wait(_REST_PAUSE_SECONDS)
        return runs

    def _post(self, text: str) -> str:
        if self.thread is None:
            path = f"/api/projects/{segment(self._project)}/agents/{segment(self._agent)}/chat"
            accepted = self._api.say(path, text, **self._terms)
            self.thread = Thread(self._project, accepted["thread_id"])
            self._feed.follow(self.thread)
        else:
            accepted = self._api.say(self.thread.path, text, **self._terms)
        return str(accepted["message_id"])

    def _cancel(self) -> None:
        self._transcript.line("cancelling …", style="dim")
        if self.thread is not None:
            self._api.post(self.thread / "cancel")

    def _follow(self, message_id: str, interrupts: Interrupts) -> bool:
        turn: int | None = None
        silence = 0.0
        while True:
            event = self._feed.next(_PATIENCE_SECONDS)
            if interrupts.take():
                self._cancel()
            if event is None:
                silence += _PATIENCE_SECONDS
                if silence >= self._silence_seconds:
                    raise CommandFailed(f"no reply: nothing happened for {silence:.0f} seconds")
                continue
            silence = 0.0
            if event["event"] == "ActionRequiresConfirmation":
                self._decide(event, interrupts)
            else:
                self._transcript.show(event)
            if event["event"] == "UserMessage" and event["data"].get("message_id") == message_id:
                turn = event["turn"]
            ended = self._ended(event, turn)
            if ended is not None:
                return ended

    def _ended(self, event: Event, turn: int | None) -> bool | None:
        """True or False if this event ends the turn with or without a reply; None if the turn goes on."""
        if event["event"] == "ConversationCompleted":
            self.completed = True
            return True
        if event.get("subthread_id") or event["turn"] != turn:
            return None
        return {"ThreadEnd": True, "TurnFailed": False, "TurnCancelled": False}.get(event["event"])

    def _decide(self, event: Event, interrupts: Interrupts) -> None:
        proposal = event["data"]
        self._transcript.decided(proposal["proposal_id"])
        try:
            with interrupts.raised():
                approved = self._person.decide(self._transcript, proposal, self._transcript.depth(event))
        except KeyboardInterrupt:
            self._cancel()
            return
        path = f"/confirmations/{segment(proposal['proposal_id'])}"
        try:
            outcome = self._api.post(path, {"approved": approved})["outcome"]
        except Refused as refused:
            self._transcript.line(f"! {refused}", style="red")
            return
        if outcome not in {"applied", "duplicate"}:
            self._transcript.line(f"! too late: {outcome}", style="red")
