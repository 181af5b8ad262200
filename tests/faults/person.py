"""A person and their conversation: what they do, whatever dies of it, and what can be seen of it.

A client whose request got no answer sends it again, with the same id.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, cast

from parley.domain import keys
from parley.domain.conversation import Conversation, RunStatus
from parley.domain.events import channel_of
from parley.turns import conversations, sockets
from parley.turns.runtime import Runtime
from tests.faults.follower import Follower
from tests.support.client import Client
from tests.support.faulty import Died
from tests.support.mortal import Fate
from tests.support.mortal_world import MortalOrchestrator, Outside

USER, PROJECT = "dev", "demo"
HOUR = 3_600.0
INACTIVITY = 24 * HOUR


class Lost(AssertionError):
    """Something did not come to rest, or not to the same end."""


class Person(Client):
    """``thread`` is the conversation; ``hooks`` are what the person does before a task of a state is invoked."""

    backend = "either"
    project = PROJECT

    def __init__(self, fate: Fate) -> None:
        self.fate = fate
        self.answers: list[str] = []
        self.thread = ""
        self.follower = Follower(self)
        self.world = Outside(lambda _, frame: self.follower.take(frame))
        self.hooks: dict[str, list[Callable[[], None]]] = {}
        self._connections = 0
        self._unanswered: list[Callable[[], Any]] = []

    # What a backend is.

    @property
    @abstractmethod
    def runtime(self) -> Runtime:
        """What handlers work on now."""

    @abstractmethod
    def recover(self) -> None:
        """A request had no answer: it can be sent again."""

    @abstractmethod
    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Let time pass until the condition holds. Raises Lost."""

    @abstractmethod
    def time_passes(self, seconds: float) -> None:
        """At once; then a pass of repair."""

    @abstractmethod
    def waits_out(self) -> None:
        """The run's time is over, and nothing is left of it."""

    @abstractmethod
    def executions(self) -> list[tuple[str, str]]:
        """Every execution's name and status."""

    def connect(self, runtime: Runtime) -> None:
        """The follower's socket, a new one."""
        self._connections += 1
        connection = f"c-{self._connections}"
        sockets.connect(runtime, connection, USER)
        subscribe = {"action": "subscribe", "channel": channel_of(USER, PROJECT)}
        sockets.receive(runtime, connection, json.dumps(subscribe))

    # What the person does.

    def before(self, state: str, act: Callable[[], None]) -> None:
        """When a task of that state is next invoked, the person acts first."""
        self.hooks.setdefault(state, []).append(act)

    def insist(self, label: str, path: str, body: dict[str, Any]) -> None:
        """Post until there is an answer."""

        def ask() -> None:
            with self.fate.worker(label):
                answer = self.request("POST", path, body=body)
            assert answer.status == 200, answer.text
            self.thread = self.thread or answer.body["thread_id"]

        self._unanswered.append(ask)
        self._ask()

    def _ask(self) -> None:
        while self._unanswered:
            try:
                self._unanswered[0]()
            except Died:
                self.recover()
            else:
                self._unanswered.pop(0)

    def begin(self, message: str, agent: str, **fields: Any) -> None:
        """Open the thread."""
        body = {"message": message, "client_message_id": "first", **fields}
        self.insist("PostMessage", self.of_project(f"/agents/{agent}/chat"), body)

    def write(self, message: str) -> None:
        """Write into it."""
        body = {"message": message, "client_message_id": message}
        self.insist("PostMessage", self.of_thread(self.thread), body)

    def write_once(self, message: str) -> bool:
        """Write, and leave it at that; whether there was an answer."""
        try:
            with self.fate.worker("PostMessage"):
                self.say(self.thread, message, client_message_id=message)
        except Died:
            self.recover()
            return False
        return True

    def aborted(self) -> None:
        """Somebody stops the execution of the present run."""
        name = keys.execution_name(*self.aggregate(self.thread).run_id)
        try:
            self.runtime.orchestrator.stop(name, "somebody stopped it")
        except Died:
            self.recover()

    def decides(self, approved: bool, **fields: Any) -> None:
        """Decide the one action that waits, as soon as it is there to be seen."""
        self.until(lambda: len(self.waiting()) == 1, "an action waits")
        (proposal,) = self.waiting()
        body = {"approved": approved, **fields}
        self.insist("PostDecision", f"/confirmations/{proposal['proposal_id']}", body)

    def cancels(self) -> None:
        """Cancel the turn."""
        self.insist("PostCancel", self.of_thread(self.thread, "/cancel"), {})

    def waiting(self) -> list[dict[str, Any]]:
        """The actions that wait, as the person sees them."""
        return list(self.status(self.thread)["pending"])

    def rests(self, turns: int) -> None:
        """Until so many turns are over and nothing is to be done."""
        self.until(
            lambda: self._idle() and self.aggregate(self.thread).turns == turns,
            f"at rest after {turns} turns",
        )

    def settles(self) -> None:
        """Until nothing is to be done, however many turns that takes."""
        self.until(self._idle, "at rest")

    def _idle(self) -> bool:
        conversation = self.aggregate(self.thread)
        run = conversation.run
        idle = run.status in (RunStatus.PARKED, RunStatus.CLOSED) and run.message_id is None
        return idle and not conversation.inbox

    def closes(self) -> None:
        """Until the run that nobody wrote to is over."""
        self.until(
            lambda: self.aggregate(self.thread).run.status is RunStatus.CLOSED and not self.running(),
            "the run is closed",
        )

    # What is looked at.

    def running(self) -> list[str]:
        """The executions that run."""
        return [name for name, status in self.executions() if status == "RUNNING"]

    @property
    def orchestrator(self) -> MortalOrchestrator:
        """With the tokens that were ever answered."""
        return cast(MortalOrchestrator, self.runtime.orchestrator)

    def aggregate(self, thread: str) -> Conversation:
        """As it is saved."""
        return conversations.get(self.runtime, thread)

    def items(self, thread: str, prefix: str = "") -> list[Any]:
        """The items of a thread's partition."""
        return list(self.runtime.store.query(keys.thread_partition(thread), prefix, limit=10_000))
