"""The thread aggregate: one small item per root thread that holds what must change together.

This module owns its shape and what can be read off it; ``protocol`` owns how it changes. Times are epoch seconds.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, NamedTuple

from parley.domain import keys
from parley.domain.agents import MessagePolicy
from parley.domain.errors import StaleRun
from parley.domain.proposals import Outcome
from parley.domain.values import Value

QUEUE_LIMIT = 20
"""Messages that may wait in a thread's inbox."""
SUMMARY_LIMIT = 2000
"""Characters of the rolling summary."""
CALLS_PER_RUN = 500
"""Tool calls after which a run hands over whatever its turns: its history stays below AWS's 25,000 events."""
DEAD_ATTEMPTS = 3
"""Executions of one run that may die before its turn is failed."""
WATCHDOG_SECONDS = 900.0
"""A run that saved nothing for so long is looked at by repair."""
WATCHDOG_STEP = 300.0
"""The watchdog's times are multiples of this: most saves of a turn then leave the index alone, which costs less."""
SIGNAL_GRACE_SECONDS = 5.0
"""How long repair leaves a signal to the process that is just about to send it."""
CANCEL_SECONDS = 30.0
"""A cancelled turn that saved nothing for so long hangs in something that does not look: repair ends it."""


class Phase(StrEnum):
    """What a thread is doing, for people."""

    WAITING_FOR_INPUT = "waiting_for_input"
    THINKING = "thinking"
    AWAITING_APPROVAL = "awaiting_approval"
    APPLYING_ACTION = "applying_action"
    RECORDING_REPLY = "recording_reply"
    CONTINUING_AS_NEW = "continuing_as_new"
    COMPLETED = "completed"


class RunStatus(StrEnum):
    """``STARTING``: saved, its execution perhaps not started. ``PARKED``: waits on ``token`` for a message."""

    STARTING = "starting"
    RUNNING = "running"
    PARKED = "parked"
    CLOSED = "closed"


class RunId(NamedTuple):
    """Names one attempt at one run of a root thread: who may act."""

    thread_id: str
    generation: int
    attempt: int


class Run(Value):
    """The current run.

    ``message_id`` is the claimed message, from claim to the end of its turn; ``deaths`` counts the executions
    that died on it. ``order`` is that of the task that read the inbox last: an older one changes nothing.
    Until ``paused_until`` (epoch seconds) a task of it does nothing but wait for a provider.
    """

    generation: int
    attempt: int = 1
    status: RunStatus = RunStatus.STARTING
    message_id: str | None = None
    token: str | None = None
    order: str = ""
    turns: int = 0
    calls: int = 0
    deaths: int = 0
    turns_per_run: int
    inactivity_seconds: int
    started_at: float
    paused_until: float = 0.0


class OpenProposal(Value):
    """A proposal of the current turn, anywhere in the tree. Undecided while ``outcome`` is None.

    ``token`` is set while the state machine waits on it, ``order`` is that of the task that waits: an older one
    changes nothing. ``decision`` is the sort key of the decision's body. ``shown_seq`` is how far the event log had
    come when the proposal was shown, ``shown_at`` when that was.
    """

    proposal_id: str
    thread_id: str
    tool_call_id: str
    token: str | None = None
    order: str = ""
    expires_at: float
    outcome: Outcome | None = None
    decision: str | None = None
    shown_seq: int = 0
    shown_at: float = 0.0


class RunRecord(Value):
    """A run that is over, for the chain of runs. ``status``: continued, inactive, completed, or imported."""

    generation: int
    status: str
    turns: int
    attempts: int
    started_at: float
    stopped_at: float


def record_of(run: Run, status: str, *, stopped_at: float) -> RunRecord:
    """A run as it is, or as it is when it stops."""
    return RunRecord(
        generation=run.generation,
        status=status,
        turns=run.turns,
        attempts=run.attempt,
        started_at=run.started_at,
        stopped_at=stopped_at,
    )


class Conversation(Value):
    """The aggregate.

    ``turn`` is the number of the open turn, None between turns. ``active_at`` (the last accepted message)
    orders lists of threads: it changes less often than ``updated_at``, and an index entry costs a write.
    ``turns_per_run`` and ``inactivity_seconds`` are the person's wish; None leaves them to the agent.
    ``untold`` are runs whose end is to be recorded and told, before the next turn opens, by whoever comes first; until
    then the aggregate is due.
    ``own_prompt``: the thread was imported with a system prompt, which lies in an item of its own.
    """

    thread_id: str
    user_id: str
    project_id: str
    agent_id: str
    title: str
    phase: Phase = Phase.THINKING
    run: Run
    inbox: tuple[str, ...] = ()
    turn: int | None = None
    turns: int = 0
    proposals: tuple[OpenProposal, ...] = ()
    cancelled: bool = False
    ending: bool = False
    on_message_while_pending: MessagePolicy = "supersede"
    propose_actions: bool = False
    turns_per_run: int | None = None
    inactivity_seconds: int | None = None
    last_reply_ref: str | None = None
    summary: str = ""
    last_seq: int = 0
    untold: tuple[RunRecord, ...] = ()
    own_prompt: bool = False
    created_at: float
    active_at: float
    updated_at: float

    @property
    def run_id(self) -> RunId:
        """Who may act now."""
        return RunId(self.thread_id, self.run.generation, self.run.attempt)

    def proposal(self, proposal_id: str) -> OpenProposal | None:
        """The proposal of the current turn with that id."""
        return next((entry for entry in self.proposals if entry.proposal_id == proposal_id), None)


def require_run(conversation: Conversation, run_id: RunId) -> Conversation:
    """Raises StaleRun unless ``run_id`` is the run that may act."""
    if conversation.run_id != run_id or conversation.run.status is RunStatus.CLOSED:
        raise StaleRun(f"run {run_id.generation}, attempt {run_id.attempt} no longer speaks for this thread")
    return conversation


class StartRun(NamedTuple):
    """A signal: start this execution (again: the same name and input find it running)."""

    name: str
    payload: dict[str, Any]


class WakeToken(NamedTuple):
    """A signal: answer this task token."""

    token: str


Signal = StartRun | WakeToken


class RunTerms(NamedTuple):
    """What the next run is started with."""

    turns_per_run: int
    inactivity_seconds: int


def run_payload(conversation: Conversation) -> dict[str, Any]:
    """The execution's input: fixed by thread, generation and attempt."""
    run = conversation.run
    return {
        "run": {
            "thread_id": conversation.thread_id,
            "generation": run.generation,
            "attempt": run.attempt,
            "subthread_id": None,
            "depth": 0,
            "inactivity_seconds": run.inactivity_seconds,
        }
    }


def signals(conversation: Conversation) -> list[Signal]:
    """Everything that is committed and waits to be signalled. Sending one again does no harm."""
    run = conversation.run
    found: list[Signal] = []
    if run.status is RunStatus.STARTING:
        found.append(StartRun(keys.execution_name(*conversation.run_id), run_payload(conversation)))
    elif run.status is RunStatus.PARKED and run.message_id and run.token:
        found.append(WakeToken(run.token))
    found.extend(WakeToken(entry.token) for entry in conversation.proposals if entry.outcome and entry.token)
    return found


def due_at(conversation: Conversation, now: float) -> float | None:
    """When repair should look at it; None while nothing can go wrong (parked, closed)."""
    if signals(conversation) or conversation.untold:
        return now + SIGNAL_GRACE_SECONDS
    if conversation.run.status is not RunStatus.RUNNING:
        return None
    if conversation.cancelled:
        return now + CANCEL_SECONDS
    undecided = [entry.expires_at for entry in conversation.proposals if entry.outcome is None]
    latest = max([now + WATCHDOG_SECONDS, *(expiry + 60.0 for expiry in undecided)])
    return math.ceil(latest / WATCHDOG_STEP) * WATCHDOG_STEP
