"""Holding a conversation from the terminal: send, show what happens, decide what is asked, until the reply.

`Conversation` knows the order of things, a `Person` answers (see `person`).
"""

from __future__ import annotations

import threading
from typing import Any, assert_never

from parley.cli.api import Api, Thread, segment
from parley.cli.decisions import decide, in_words
from parley.cli.failure import CommandFailed, Refused
from parley.cli.feed import Event, Feed
from parley.cli.interrupts import Interrupts
from parley.cli.person import Approve, Decline, Leave, Person, Write
from parley.cli.transcript import Transcript

_PATIENCE_SECONDS = 0.25
_REST_TRIES = 20
_REST_PAUSE_SECONDS = 0.1
_SUGGESTIONS_SECONDS = 3.0
"""How long what to do next is waited for, where the agent suggests such."""
_MOVING = {"thinking", "awaiting_approval", "applying_action", "recording_reply", "continuing_as_new"}


class Conversation:
    """One conversation with one agent: a new one, begun by the first message, or one that `resume` goes on with.

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
        self._suggests: bool | None = None
        self._awaited: dict[str, int | None] = {}
        self._left: set[str] = set()
        self.thread: Thread | None = None
        self.completed = False

    def send(self, text: str, *, typed: bool = False, predefined: bool = False) -> bool:
        """Send a message, or a predefined one by its id, and follow its turn to the end. Whether it got its reply.

        Ctrl-C cancels the turn. Raises CommandFailed if the server does not take the message.
        """
        self._post(text, typed=typed, predefined=predefined)
        with Interrupts() as interrupts:
            replied = self._follow(interrupts)
            if replied and not self.completed:
                self._await_suggestions(interrupts)
        return replied

    def resume(self, thread_id: str) -> bool:
        """Go on with a thread: what it says last, and a turn that is under way to its end. Whether that got its reply.

        Raises CommandFailed for a thread that is over.
        """
        thread = Thread(self._project, thread_id)
        status = self._api.get(thread.path)
        if status["phase"] == "completed":
            raise CommandFailed("this conversation is over: it was ended with /end")
        self.thread, self._agent = thread, status["agent_id"]
        self._transcript.line(f"· {status['title']}", style="dim")
        if status["last_reply_ref"]:
            turn = status["last_reply_ref"].rpartition("/")[2]
            self._transcript.labelled("agent", str(self._api.get(thread / f"replies/{turn}")["content"]))
        self._feed.follow(thread, after=status["last_seq"])
        if status["phase"] not in _MOVING:
            return True
        self._awaited = {"": status["turns"] + 1}
        with Interrupts() as interrupts:
            return self._follow(interrupts)

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

    def _post(self, text: str, *, typed: bool, predefined: bool = False) -> None:
        if self.thread is None:
            path = f"/api/projects/{segment(self._project)}/agents/{segment(self._agent)}/chat"
            accepted = self._api.say(path, text, predefined=predefined, **self._terms)
            self.thread = Thread(self._project, accepted["thread_id"])
            self._feed.follow(self.thread)
        else:
            accepted = self._api.say(self.thread.path, text, predefined=predefined, **self._terms)
        message_id = str(accepted["message_id"])
        self._awaited[message_id] = None
        if typed:
            self._transcript.typed(message_id)

    def _cancel(self) -> None:
        self._transcript.line("cancelling …", style="dim")
        if self.thread is not None:
            self._api.post(self.thread / "cancel")

    def _follow(self, interrupts: Interrupts) -> bool:
        """Until the turns of all messages that are awaited are over. Whether each got its reply."""
        silence = 0.0
        replied = True
        while self._awaited and not self.completed:
            event = self._feed.next(_PATIENCE_SECONDS)
            if interrupts.take():
                self._cancel()
            if event is None:
                silence += _PATIENCE_SECONDS
                if silence >= self._silence_seconds and not self._left:
                    raise CommandFailed(f"no reply: nothing happened for {silence:.0f} seconds")
                continue
            silence = 0.0
            self._take(event, interrupts)
            ended = self._ended(event)
            replied = replied and ended is not False
        self._awaited.clear()
        return replied

    def _take(self, event: Event, interrupts: Interrupts) -> None:
        data = event["data"]
        match event["event"]:
            case "ActionRequiresConfirmation" if self._waits(data["proposal_id"]):
                self._decide(event, interrupts)
                return
            case "ActionConfirmed" | "ActionRejected":
                self._left.discard(data["proposal_id"])
            case "UserMessage" if data["message_id"] in self._awaited:
                self._awaited[data["message_id"]] = event["turn"]
        self._transcript.show(event)

    def _ended(self, event: Event) -> bool | None:
        """True or False if this event ends an awaited turn with or without a reply; None if it ends none."""
        if event["event"] == "ConversationCompleted":
            self.completed = True
            return True
        if event.get("subthread_id") or event["turn"] not in self._awaited.values():
            return None
        ended = {"ThreadEnd": True, "TurnFailed": False, "TurnCancelled": False}.get(event["event"])
        if ended is not None:
            self._left.clear()
            self._awaited = {key: turn for key, turn in self._awaited.items() if turn != event["turn"]}
        return ended

    def _await_suggestions(self, interrupts: Interrupts) -> None:
        """They come behind the reply, if they come."""
        if self._suggests is None:
            path = f"/api/projects/{segment(self._project)}/agents/{segment(self._agent)}"
            self._suggests = bool(self._api.get(path).get("propose_actions"))
        waited = 0.0
        while self._suggests and waited < _SUGGESTIONS_SECONDS and not interrupts.take():
            event = self._feed.next(_PATIENCE_SECONDS)
            if event is None:
                waited += _PATIENCE_SECONDS
                continue
            self._take(event, interrupts)
            if event["event"] == "ProposeActions":
                return

    # Decisions.

    def _waits(self, proposal_id: str) -> bool:
        """Whether there is still something to decide: a newer message or somebody else may have been quicker."""
        if self.thread is None:
            return False
        pending = self._api.get(self.thread.path)["pending"]
        return proposal_id in {entry["proposal_id"] for entry in pending}

    def _decide(self, event: Event, interrupts: Interrupts) -> None:
        """Ask until there is an answer that the server takes, too."""
        self._transcript.proposed(event["data"])
        while True:
            try:
                with interrupts.raised():
                    depth = self._transcript.depth(event)
                    answer = self._person.decide(self._transcript, event["data"], depth)
            except KeyboardInterrupt:
                self._cancel()
                return
            try:
                match answer:
                    case Approve() | Decline():
                        self._send_decision(event["data"], answer)
                        return
                    case Write(text):
                        self._post(text, typed=True)
                        if not self._waits(event["data"]["proposal_id"]):
                            return
                        self._transcript.line("· your message comes after this decision", style="dim")
                    case Leave():
                        self._left.add(event["data"]["proposal_id"])
                        self._transcript.line("· waiting for somebody to decide; Ctrl-C cancels", style="dim")
                        return
                    case _ as never:
                        assert_never(never)
            except Refused as refused:
                self._transcript.line(f"! {refused}", style="red")
                if not self._waits(event["data"]["proposal_id"]):
                    return

    def _send_decision(self, proposal: dict[str, Any], answer: Approve | Decline) -> None:
        body: dict[str, Any] = {"approved": isinstance(answer, Approve)}
        if isinstance(answer, Approve) and answer.changes is not None:
            body["arguments"] = {**proposal["arguments"], **answer.changes}
        if isinstance(answer, Decline) and answer.reason:
            body["reason"] = answer.reason
        told = decide(self._api, proposal["proposal_id"], body)
        if told["outcome"] == "applied":
            self._transcript.decided(proposal["proposal_id"])
        else:
            self._transcript.line(f"! {in_words(told)}", style="red")
