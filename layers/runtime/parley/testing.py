"""What a team tests its functions and agents with: the whole runtime in a temporary folder, its clock in hand.

::

    def test_coupons_are_sent_once_they_are_approved(tmp_path):
        with rehearsal(tmp_path, [AGENT], packs=["acme_coupons"]) as talk:
            talk.say("Send our best customers a coupon")
            assert talk.pending[0]["question"] == "Send a 10% coupon to 2 customers?"
            assert talk.decide(approved=True) == "Done. Sent 2 coupons of 10%."

The same handlers and state machine as everywhere; the model is the scripted one, or any that ``environment``
configures. A process holds one rehearsal at a time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from parley import wiring
from parley.clock import MovableClock
from parley.domain.agents import Agent
from parley.domain.conversation import RunStatus
from parley.embedded.database import Database
from parley.embedded.store import SqliteStore
from parley.installation import Installation
from parley.tools.data import ProjectData
from parley.tools.function import FunctionContext
from parley.turns import accept_message, conversations, decide, projects, read_events, read_threads
from parley.turns.accept_message import NewMessage
from parley.turns.agents import put_agent
from parley.turns.decide import DecisionRequest

USER, PROJECT = "tester", "rehearsal"
PATIENCE = 30.0
"""Real seconds that a turn may take before the test fails."""
_LOOK = 0.002
_EVENTS = 10_000


class NotAnswered(AssertionError):
    """The last message has no reply; the message says what stands instead."""


class Rehearsal:
    """One conversation of the user ``USER`` in the project ``PROJECT``."""

    def __init__(self, installation: Installation, clock: MovableClock, agent_id: str) -> None:
        self.runtime = installation.runtime
        self.clock = clock
        self._interpreter = installation.interpreter
        self._agent_id = agent_id
        self._thread_id: str | None = None

    def say(self, message: str) -> str | None:
        """Send a message and let the turn run; its reply, or None if it waits for a decision. Raises NotAnswered."""
        new = NewMessage(message=message)
        if self._thread_id is None:
            accepted = accept_message.start_thread(self.runtime, USER, PROJECT, self._agent_id, new)
            self._thread_id = accepted.thread_id
        else:
            accept_message.continue_thread(self.runtime, USER, PROJECT, self._thread_id, new)
        return self._reply()

    def decide(
        self,
        *,
        approved: bool,
        arguments: dict[str, Any] | None = None,
        reason: str | None = None,
        proposal_id: str | None = None,
    ) -> str | None:
        """Decide the oldest open proposal, or the one named; the turn's reply as `say` gives it.

        Raises InvalidRequest for arguments that do not fit, and for any with a refusal.
        """
        wanted = proposal_id or (self.pending[0]["proposal_id"] if self.pending else None)
        if wanted is None:
            raise NotAnswered("nothing waits for a decision")
        request = DecisionRequest(approved=approved, arguments=arguments, reason=reason)
        decide.decide(self.runtime, USER, wanted, request)
        return self._reply()

    def pass_time(self, seconds: float) -> str | None:
        """Move the clock; then as `say`. An expired proposal is seen within five seconds of its time."""
        self.clock.advance(seconds)
        return self._reply()

    @property
    def thread_id(self) -> str:
        """The thread's id, once something was said."""
        if self._thread_id is None:
            raise NotAnswered("nothing was said yet")
        return self._thread_id

    @property
    def pending(self) -> list[dict[str, Any]]:
        """What waits for a decision: ``proposal_id, name, arguments, question, expires_at, thread_id`` each."""
        status = read_threads.thread_status(self.runtime, USER, PROJECT, self.thread_id)
        return list(status["pending"])

    @property
    def events(self) -> list[dict[str, Any]]:
        """The thread's event log from its beginning."""
        conversation = conversations.get(self.runtime, self.thread_id)
        found = read_events.events_after(self.runtime, conversation, 0, _EVENTS)
        return [event.public() for event in found]

    @property
    def responses(self) -> list[tuple[str, bool, str]]:
        """What the functions answered so far: name, whether it went well, and the text that the model was given."""
        answered = [event["data"] for event in self.events if event["event"] == "ToolResponse"]
        return [(data["name"], data["ok"], data["content"]) for data in answered]

    def data(self, pack: str) -> ProjectData:
        """A pack's data in this project, to prepare and to look at."""
        return ProjectData(self.runtime.store, PROJECT, pack)

    def _reply(self) -> str | None:
        """Wait until nothing moves any more."""
        until = time.monotonic() + PATIENCE
        while not self._interpreter.at_rest() or not self._settled():
            if time.monotonic() > until:
                phase = conversations.get(self.runtime, self.thread_id).phase
                raise NotAnswered(f"after {PATIENCE:g} s the conversation still stands at {phase}")
            Event().wait(_LOOK)
        if self.pending:
            return None
        return self._last_reply()

    def _settled(self) -> bool:
        conversation = conversations.get(self.runtime, self.thread_id)
        if any(entry.outcome is None for entry in conversation.proposals):
            return True
        run = conversation.run
        return (
            run.status in (RunStatus.PARKED, RunStatus.CLOSED)
            and not run.message_id
            and not conversation.inbox
        )

    def _last_reply(self) -> str | None:
        conversation = conversations.get(self.runtime, self.thread_id)
        ended = [event for event in self.events if event["turn"] == conversation.turns]
        for event in ended:
            if event["event"] == "TurnFailed" and event["subthread_id"] is None:
                raise NotAnswered(f"the turn failed: {event['data']['message']}")
        reply = read_threads.read_reply(self.runtime, USER, PROJECT, self.thread_id, conversation.turns)
        return str(reply["content"])


@contextmanager
def rehearsal(
    folder: Path,
    agents: Sequence[Agent | Mapping[str, Any]],
    *,
    packs: Iterable[str] = (),
    environment: Mapping[str, str] | None = None,
    clock: MovableClock | None = None,
) -> Iterator[Rehearsal]:
    """A conversation with the last of ``agents`` (the others are its subagents), on a data folder of its own.

    ``packs``: modules with function classes, beside those of installed entry points. ``environment``: settings such as
    ``OPENAI_API_KEY``, in place of the process's own.
    """
    clock = clock or MovableClock()
    variables = {"PARLEY_PACKS": ",".join(packs), "PARLEY_CHUNK_MILLISECONDS": "0", **(environment or {})}
    installation = wiring.embedded(folder, clock=clock, workers=8, demo_user=None, environment=variables)
    try:
        projects.ensure_member(installation.runtime, PROJECT, USER, projects.Role.OWNER)
        known = [Agent.model_validate(agent) for agent in agents]
        for agent in known:
            put_agent(installation.runtime, PROJECT, agent)
        yield Rehearsal(installation, clock, known[-1].agent_id)
    finally:
        wiring.use(None)
        installation.close()


@contextmanager
def function_context(
    folder: Path, pack: str, *, idempotency_key: str = "key-1", clock: MovableClock | None = None
) -> Iterator[FunctionContext]:
    """What a function class is made with, over a store of its own: for tests of ``handle`` alone."""
    clock = clock or MovableClock()
    database = Database(folder / "parley.db")
    try:
        yield FunctionContext(
            user_id=USER,
            project_id=PROJECT,
            agent_id="agent",
            thread_id="thread",
            idempotency_key=idempotency_key,
            data=ProjectData(SqliteStore(database, clock), PROJECT, pack),
            clock=clock,
        )
    finally:
        database.close()
