"""A whole Parley behind its HTTP handler, on either backend: what the scenarios talk to.

Time: the clock of both stands still until a test moves it, so a scripted model that "thinks" for ``HELD``
seconds thinks until the test lets it go on. On ``embedded`` the state machine's timers follow that clock too;
on ``aws`` moto's are real, with the sleeps between tries shortened.
"""

from __future__ import annotations

import faulthandler
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from pydantic import Field

import parley_marketer
from parley import wiring
from parley.clock import MovableClock
from parley.domain import keys
from parley.domain.agents import Agent
from parley.domain.conversation import Conversation, RunStatus
from parley.domain.events import channel_of
from parley.tools.function import Function, FunctionArguments, FunctionFailed, FunctionResult
from parley.turns import agents, projects, sockets
from parley.turns.projects import Role
from parley.turns.runtime import Runtime
from tests.support.client import Client
from tests.support.counted import CountedOrchestrator, Counts
from tests.support.waiting import PATIENCE

Backend = Literal["embedded", "aws"]
HELD = 50.0
"""Seconds that a held model thinks: less than any time-out of the state machine."""


class Note(Function):
    """Counts in the store how often it ran, per idempotency key: what a scenario asks afterwards."""

    name: ClassVar[str] = "note"
    description: ClassVar[str] = "Takes a note."
    pack: ClassVar[str] = "notes"
    confirmation_question: ClassVar[str | None] = "Note {text}?"

    class Arguments(FunctionArguments):
        text: str = Field(min_length=1, max_length=100)

    def handle(self, arguments: Arguments) -> FunctionResult:
        if arguments.text == "fail":
            raise FunctionFailed("The notebook is full.")
        if arguments.text == "crash":
            raise ZeroDivisionError
        key = self.context.idempotency_key
        ran = self.context.data.update(
            f"note/{key}", lambda known: {"text": arguments.text, "ran": (known or {"ran": 0})["ran"] + 1}
        )
        return FunctionResult(f"Noted: {arguments.text}", {"ran": ran["ran"]})


@dataclass
class System(Client):
    """One project of an installation: what a client can ask of it, and what tests wait for and look at."""

    backend: Backend
    runtime: Runtime
    clock: MovableClock
    counts: Counts
    project: str
    answers: list[str] = field(default_factory=list)

    # Waiting.

    def wait_until(self, condition: Callable[[], Any], what: str = "", *, moving: float = 0.0) -> Any:
        """The first true value of ``condition``, looked at whenever the store has changed.

        ``moving``: seconds by which the clock goes on per look, for what waits between tries.
        """
        until = time.monotonic() + PATIENCE
        while True:
            with self.counts.changed:
                seen = self.counts.n["store.put"]
            if value := condition():
                return value
            if time.monotonic() > until:
                faulthandler.dump_traceback(2)
                raise TimeoutError(f"not within {PATIENCE} s: {what or condition}\n{self._where_it_stands()}")
            if moving:
                self.clock.advance(moving)
            with self.counts.changed:
                if self.counts.n["store.put"] == seen:
                    self.counts.changed.wait(0.05)

    def _where_it_stands(self) -> str:
        """The last states of every execution, for a test that waited in vain."""
        lines = []
        for name in self.orchestrator.names:
            lines.append(f"{name}: {self.orchestrator.status(name)}")
            lines += [
                f"  {visit.name} {visit.iteration} {visit.outcome} {visit.error} retries={visit.retries}"
                for visit in self.orchestrator.history(name)[-6:]
            ]
        return "\n".join(lines)

    def aggregate(self, thread: str) -> Conversation:
        """The thread's aggregate as last saved, without a read."""
        saved = self.runtime.store.aggregates[keys.thread_partition(thread)]  # type: ignore[attr-defined]
        return Conversation.model_validate_json(saved.body)

    @property
    def store(self) -> Any:
        """The store itself, behind the counting one."""
        return self.runtime.store.inner  # type: ignore[attr-defined]

    def rest(self, thread: str, *, turns: int | None = None, moving: float = 0.0) -> Any:
        """Wait until nothing is left to do in the thread (and ``turns`` turns are done); its status."""
        self.come_to_rest(thread, turns=turns, moving=moving)
        return self.status(thread)

    def come_to_rest(self, thread: str, *, turns: int | None = None, moving: float = 0.0) -> None:
        """The same, and nothing is read of the thread."""

        def at_rest() -> bool:
            conversation = self.aggregate(thread)
            run = conversation.run
            idle = run.status in (RunStatus.PARKED, RunStatus.CLOSED) and run.message_id is None
            self._note_tokens(conversation)
            return idle and not conversation.inbox and turns in (None, conversation.turns)

        self.wait_until(at_rest, f"{thread} is at rest after {turns} turns", moving=moving)

    def pending(self, thread: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until so many proposals of the thread wait for a decision; they, in the order they came."""

        def waiting() -> bool:
            conversation = self.aggregate(thread)
            self._note_tokens(conversation)
            return sum(entry.outcome is None for entry in conversation.proposals) == count

        self.wait_until(waiting, f"{count} proposals wait")
        shown = "ActionRequiresConfirmation"
        self.wait_until(
            lambda: sum(event["event"] == shown for event in self.events(thread)) >= count,
            f"{count} proposals are shown",
        )
        return list(self.status(thread)["pending"])

    def held(self, models: int = 1) -> None:
        """Wait until so many models think for ``HELD`` seconds."""
        assert self.clock.wait_for_sleepers(models, PATIENCE)

    def let_go(self) -> None:
        """Let the held models go on."""
        self.clock.advance(HELD)

    def _note_tokens(self, conversation: Conversation) -> None:
        tokens = {conversation.run.token, *(entry.token for entry in conversation.proposals)}
        self.orchestrator.tokens.update(token for token in tokens if token)

    # What tests prepare and look at.

    @property
    def orchestrator(self) -> CountedOrchestrator:
        """The orchestrator, with the names it started and the tokens it saw."""
        return self.runtime.orchestrator  # type: ignore[return-value]

    @property
    def frames(self) -> list[dict[str, Any]]:
        """Every frame pushed so far."""
        return [json.loads(frame) for _, frame in self.runtime.pusher.frames]  # type: ignore[attr-defined]

    def agent(self, agent_id: str = "talker", **fields: Any) -> str:
        """Put an agent on the scripted provider into the project; its id."""
        facts = {"agent_id": agent_id, "name": agent_id, "provider": "scripted", "model": "demo", **fields}
        if "script" in facts:
            facts["settings"] = {"script": facts.pop("script")}
        self.put_agent(Agent.model_validate(facts))
        return agent_id

    def put_agent(self, agent: Agent) -> None:
        """Put an agent into the project as it is."""
        agents.put_agent(self.runtime, self.project, agent)

    def change_settings(self, **changes: Any) -> None:
        """Change settings of the installation."""
        self.change_runtime(settings=replace(self.runtime.settings, **changes))

    def change_runtime(self, **parts: Any) -> None:
        """Replace parts of the installation."""
        self.runtime = replace(self.runtime, **parts)
        wiring.use(self.runtime)

    def member(self, user: str, role: Role = Role.MEMBER) -> str:
        """Make somebody a member of the project."""
        projects.ensure_member(self.runtime, self.project, user, role)
        return user

    def open_shop(self, *, suggesting: bool = False) -> None:
        """The demo's agents and data, in this project; ``suggesting``: with what to do next, as it is shipped."""
        parley_marketer.install(self.store, self.project, self.clock)
        for agent in parley_marketer.agents():
            wanted = agent.propose_actions and suggesting
            self.put_agent(agent.but(propose_actions=wanted))

    def listen(self, connection: str = "c-1", user: str = "dev") -> None:
        """Subscribe a connection to the user's channel in the project."""
        sockets.connect(self.runtime, connection, user)
        subscribe = {"action": "subscribe", "channel": channel_of(user, self.project)}
        sockets.receive(self.runtime, connection, json.dumps(subscribe))

    def data(self, pack: str) -> dict[str, Any]:
        """What a function pack stored in the project, by key."""
        items = self.store.query(f"DATA#{self.project}#{pack}", "", limit=1000)
        return {item.sort: json.loads(item.body) for item in items}

    def items(self, thread: str, prefix: str = "") -> list[Any]:
        """The items of a thread's partition, not counted as reads."""
        return list(self.store.query(f"THREAD#{thread}", prefix, limit=10_000))
