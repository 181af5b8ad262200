"""One conversation in a world at a test's command: its workers, its signals, its time.

Everything is the shipped code but the model, the functions and the executions' pace.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

from parley.clock import MovableClock
from parley.domain import keys
from parley.domain.agents import Agent
from parley.domain.conversation import QUEUE_LIMIT, Conversation, RunStatus
from parley.domain.errors import Conflict, TooManyQueued
from parley.domain.proposals import Outcome
from parley.embedded.blobs import FolderBlobs
from parley.embedded.database import Database
from parley.embedded.store import SqliteStore
from parley.turns import accept_message, agents, conversations, projects
from parley.turns.accept_message import NewMessage
from parley.turns.cancel import cancel
from parley.turns.decide import DecisionRequest, decide
from parley.turns.event_log import parse_events
from parley.turns.ports import ExecutionStatus, Store
from parley.turns.repair import repair_due
from parley.turns.runtime import Runtime
from parley.wiring import use
from tests.faults.truth import check_cancels, check_decisions, check_history, check_log
from tests.faults.workers import Workers
from tests.support.faulty import (
    Fault,
    NobodyListens,
    OutsideSystem,
    TalkingProvider,
)
from tests.support.memory_store import MemoryStore
from tests.support.models import OneProvider

INACTIVITY, CONFIRMATION = 7_200, 86_400
MINUTE = 60.0
REST = 4_000.0
"""Seconds within which repair alone has to bring a thread to rest: less than the inactivity time."""


class Sent(NamedTuple):
    """A message as a client sent it."""

    client_id: str
    content: str


def _agent(policy: str, turns: int, **more: Any) -> Agent:
    """One agent that is its own subagent, and every answer of whose model is known."""
    functions: list[dict[str, Any]] = [
        {"name": name, "implementation": {"kind": "class", "class_name": name}} for name in ("note", "refund")
    ]
    for name, message in (("help", "act for me"), ("deeper", "ask for me")):
        subagent = {"kind": "subagent", "subagent_id": "helper", "subagent_user_message": message}
        functions.append({"name": name, "implementation": subagent})
    return Agent.model_validate(
        {
            "agent_id": "helper",
            "name": "Helper",
            "provider": "talking",
            "model": "any",
            "functions": functions,
            "turns_per_run": turns,
            "inactivity_seconds": INACTIVITY,
            "confirmation_seconds": CONFIRMATION,
            "on_message_while_pending": policy,
            **more,
        }
    )


class World(Workers):
    """``accepted`` are the contents of the messages that were accepted, in that order. ``decisions``: what people
    were told of proposals. ``cancelled``: messages whose turn somebody asked to stop; whether that was promised.
    """

    backend: Literal["memory", "sqlite"] = "memory"

    def __init__(self) -> None:
        self.resources = ExitStack()
        folder = Path(self.resources.enter_context(tempfile.TemporaryDirectory()))
        clock = MovableClock()
        super().__init__(self._open_store(folder, clock), clock)
        self.outside = OutsideSystem()
        self.runtime = Runtime(
            store=self.store,
            blobs=FolderBlobs(folder / "blobs"),
            orchestrator=self.orchestrator,
            pusher=NobodyListens(),
            clock=clock,
            providers=OneProvider(TalkingProvider()),
            functions=self.outside,
        )
        use(self.runtime)
        self.messages: list[Sent] = []
        self.accepted: list[str] = []
        self.decisions: dict[str, Outcome] = {}
        self.applied: set[str] = set()
        self.cancelled: dict[str, bool] = {}
        self.thread_id = ""

    def use(self, runtime: Runtime) -> None:
        """Let workers and people work on another runtime."""
        self.runtime = runtime
        use(runtime)

    def _open_store(self, folder: Path, clock: MovableClock) -> Store:
        if self.backend == "memory":
            return MemoryStore()
        database = Database(folder / "parley.db")
        self.resources.callback(database.close)
        return SqliteStore(database, clock)

    def begin(
        self, policy: str = "supersede", turns: int = 3, fault: Fault | None = None, **more: Any
    ) -> None:
        """A person starts the conversation; if its worker dies on it, the client sends again. ``more``: the agent's."""
        projects.ensure_member(self.runtime, "shop", "ann", projects.Role.OWNER)
        agents.put_agent(self.runtime, "shop", _agent(policy, turns, **more))
        first = NewMessage(message="talk 0", client_message_id="c0")
        self.messages.append(Sent("c0", "talk 0"))
        for accident in (fault, None):
            self.guarded(accident, lambda: self._begin(first))
        self.accepted.append("talk 0")

    def _begin(self, message: NewMessage) -> None:
        answer = accept_message.start_thread(self.runtime, "ann", "shop", "helper", message)
        self.thread_id = answer.thread_id

    def conversation(self) -> Conversation:
        return conversations.get(self.runtime, self.thread_id)

    # What people do.

    def post(self, sent: Sent, fault: Fault | None) -> Any:
        message = NewMessage(message=sent.content, client_message_id=sent.client_id)

        def request() -> Any:
            return accept_message.continue_thread(self.runtime, "ann", "shop", self.thread_id, message)

        try:
            return self.guarded(fault, request)
        except (Conflict, TooManyQueued) as refused:
            now = self.conversation()
            waits = refused.type == "confirmation_pending" and now.on_message_while_pending == "reject"
            assert now.ending or len(now.inbox) == QUEUE_LIMIT or waits
            return None

    def write(self, content: str, fault: Fault | None = None) -> None:
        sent = Sent(f"c{len(self.messages)}", content)
        self.messages.append(sent)
        answer = self.post(sent, fault)
        now = self.conversation()
        message_id = keys.message_id_for(self.thread_id, sent.client_id)
        if message_id in (*now.inbox, now.run.message_id):
            self.accepted.append(content)
        else:
            assert answer is None, "told that it was accepted"

    def decide(self, proposal_id: str, approved: bool, fault: Fault | None = None) -> None:
        request = DecisionRequest(approved=approved)
        result = self.guarded(fault, lambda: decide(self.runtime, "ann", proposal_id, request))
        if result is None:
            return
        if result.outcome == "applied":
            assert proposal_id not in self.applied
            self.applied.add(proposal_id)
            assert result.decision is (Outcome.APPROVED if approved else Outcome.DECLINED)
        assert self.decisions.setdefault(proposal_id, result.decision) is result.decision

    def cancel(self, fault: Fault | None = None) -> None:
        before = self.conversation().run.message_id
        promised = self.guarded(fault, lambda: cancel(self.runtime, "ann", "shop", self.thread_id))
        if promised is None or promised:
            assert before is not None or not promised
            content = self._content(before)
            self.cancelled[content] = bool(promised) or self.cancelled.get(content, False)

    def _content(self, message_id: str | None) -> str:
        for sent in self.messages:
            if keys.message_id_for(self.thread_id, sent.client_id) == message_id:
                return sent.content
        return ""

    # What has to be true in the end.

    def come_to_rest(self, *, zombies: bool = True) -> None:
        """Everybody who stalled goes on (if ``zombies``), people approve, repair passes by: until nothing is left."""
        while zombies and self.zombies:
            self.zombies.pop().go_on()
        until = self.clock.now() + REST
        while self.clock.now() < until:
            self.work()
            conversation = self.conversation()
            waiting = [entry for entry in conversation.proposals if entry.outcome is None]
            for entry in waiting:
                self.decide(entry.proposal_id, approved=True)
            idle = conversation.run.status in (RunStatus.PARKED, RunStatus.CLOSED)
            if idle and not conversation.run.message_id and not conversation.inbox and not waiting:
                return
            self.time_passes(MINUTE)
            repair_due(self.runtime)
        raise AssertionError(f"not at rest: {self.conversation()!r}\n{self.where()}")

    def events(self) -> list[dict[str, Any]]:
        """The whole log."""
        items = self.store.query(keys.thread_partition(self.thread_id), keys.EVENTS, limit=10_000)
        return [event for item in items for event in parse_events(item.body)]

    def _check_nothing_hangs(self) -> None:
        """In a day nothing runs any more, and nothing is due."""
        for _ in range(4):
            self.time_passes(CONFIRMATION / 2)
            repair_due(self.runtime)
            self.work()
        assert not [e.name for e in self.stepper.executions.values() if e.status is ExecutionStatus.RUNNING]
        until = conversations.sortable(self.clock.now() + 10 * CONFIRMATION)
        assert not [
            item for shard in keys.DUE_SHARDS for item in self.store.query_index("due", shard, until=until)
        ]

    def close(self) -> None:
        """Bring the conversation to rest and look at it; let go of everything."""
        try:
            if self.thread_id:
                self.come_to_rest()
                check_history(self.store.inner, self.conversation(), self.accepted)
                check_log(self.store.inner, self.conversation())
                check_decisions(self.store.inner, self.conversation(), self.decisions, self.outside.done)
                check_cancels(self.store.inner, self.conversation(), self.accepted, self.cancelled)
                self._check_nothing_hangs()
        finally:
            while self.zombies:
                self.zombies.pop().go_on()
            use(None)
            self.resources.close()
