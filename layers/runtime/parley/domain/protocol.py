"""The protocol of a thread: every rule by which the aggregate changes.

Each is a pure function ``rule(conversation, …) -> conversation``. The caller loads, applies, saves if the
item is unchanged, and tries again on a conflict; a result that is the very same object needs no save.
``decisions`` has those about proposals. Decision record 2 tells the protocol as a table of states and moves.
"""

from __future__ import annotations

from parley.domain.agents import MessagePolicy
from parley.domain.conversation import (
    CALLS_PER_RUN,
    QUEUE_LIMIT,
    SUMMARY_LIMIT,
    Conversation,
    Phase,
    Run,
    RunId,
    RunRecord,
    RunStatus,
    RunTerms,
    record_of,
    require_run,
)
from parley.domain.decisions import decide_all, supersede
from parley.domain.errors import Conflict, StaleRun, TooManyQueued
from parley.domain.proposals import Outcome


def new_conversation(  # noqa: PLR0913 - keywords only: the fields of one value
    *,
    thread_id: str,
    user_id: str,
    project_id: str,
    agent_id: str,
    title: str,
    message_id: str,
    ending: bool,
    policy: MessagePolicy,
    terms: RunTerms,
    turns_per_run: int | None,
    inactivity_seconds: int | None,
    now: float,
) -> Conversation:
    """A thread with its first message claimed for generation 1."""
    run = Run(generation=1, message_id=message_id, started_at=now, **terms._asdict())
    return Conversation(
        thread_id=thread_id,
        user_id=user_id,
        project_id=project_id,
        agent_id=agent_id,
        title=title,
        run=run,
        ending=ending,
        on_message_while_pending=policy,
        turns_per_run=turns_per_run,
        inactivity_seconds=inactivity_seconds,
        created_at=now,
        active_at=now,
        updated_at=now,
    )


def accept(
    conversation: Conversation, message_id: str, *, terms: RunTerms, ending: bool, now: float
) -> Conversation:
    """Queue a message, supersede what it supersedes, and claim it if the run only waits for it.

    Raises Conflict (``conversation_completed``, ``confirmation_pending``) and TooManyQueued.
    A message that is already queued or claimed changes nothing.
    """
    if message_id == conversation.run.message_id or message_id in conversation.inbox:
        return conversation
    if conversation.ending or conversation.phase is Phase.COMPLETED:
        raise Conflict("conversation_completed", "This conversation was ended; start a new one.")
    if len(conversation.inbox) >= QUEUE_LIMIT:
        raise TooManyQueued(
            "too_many_queued",
            f"{QUEUE_LIMIT} messages wait in this thread already; send more when some are answered.",
        )
    changed = supersede(conversation, now)
    changed = changed.but(inbox=(*changed.inbox, message_id), ending=ending, active_at=now, updated_at=now)
    if changed.run.status is RunStatus.CLOSED:
        changed = _next_generation(changed, terms, now).but(phase=Phase.THINKING)
    if changed.run.status in (RunStatus.PARKED, RunStatus.STARTING):
        changed = _claim(changed)
    return changed


def _claim(conversation: Conversation) -> Conversation:
    """Take the first queued message for the run, unless it has one."""
    run = conversation.run
    if run.message_id or not conversation.inbox:
        return conversation
    claimed = run.but(message_id=conversation.inbox[0])
    return conversation.but(run=claimed, inbox=conversation.inbox[1:], phase=Phase.THINKING)


def _next_generation(conversation: Conversation, terms: RunTerms, now: float) -> Conversation:
    run = Run(generation=conversation.run.generation + 1, started_at=now, **terms._asdict())
    return conversation.but(run=run)


def receive(conversation: Conversation, run_id: RunId, token: str, order: str = "") -> Conversation:
    """Hand out the claimed message, or the next, or park with ``token``.

    Parked afterwards means: wait. Otherwise the caller answers its own token once this is saved.
    Raises StaleRun if a task of a later ``order`` was here: this one was given up, and nobody waits on its token.
    """
    require_run(conversation, run_id)
    if order < conversation.run.order:
        raise StaleRun("a later task reads the inbox of this run")
    claimed = _claim(conversation)
    if claimed.run.message_id:
        return claimed.but(run=claimed.run.but(status=RunStatus.RUNNING, token=None, order=order))
    run = conversation.run.but(status=RunStatus.PARKED, token=token, order=order)
    return conversation.but(run=run, phase=Phase.WAITING_FOR_INPUT)


def open_turn(
    conversation: Conversation,
    run_id: RunId,
    message_id: str,
    *,
    last_seq: int,
    policy: MessagePolicy,
    propose_actions: bool | None,
) -> Conversation:
    """Begin the turn of the claimed message, or carry on with it. What the agent says holds for the turn.

    Raises StaleRun if that message's turn is over: a task that was given up may still be at work.
    """
    require_run(conversation, run_id)
    run = conversation.run
    if run.message_id != message_id:
        raise StaleRun(f"the turn of message {message_id} is over")
    changed = conversation
    if run.status is not RunStatus.RUNNING or run.token:
        changed = changed.but(run=run.but(status=RunStatus.RUNNING, token=None))
    if changed.turn is None:
        seq = max(changed.last_seq, last_seq)
        changed = changed.but(turn=changed.turns + 1, last_seq=seq, on_message_while_pending=policy)
        if propose_actions is not None:
            changed = changed.but(propose_actions=propose_actions)
    if changed.phase not in (Phase.THINKING, Phase.RECORDING_REPLY):
        changed = changed.but(phase=Phase.THINKING)
    return changed


def begin_recording(conversation: Conversation, run_id: RunId, turn: int) -> Conversation:
    """The turn's reply is about to be shown as its end: from here on it cannot be cancelled.

    Unchanged if the turn was cancelled before, or is over: the caller looks.
    """
    require_run(conversation, run_id)
    recording = conversation.phase is Phase.RECORDING_REPLY
    if recording or conversation.cancelled or conversation.turn != turn:
        return conversation
    return conversation.but(phase=Phase.RECORDING_REPLY)


def count_calls(conversation: Conversation, run_id: RunId, calls: int) -> Conversation:
    """Count a reply's tool calls against the run's bound; a task that runs again counts them again."""
    require_run(conversation, run_id)
    return conversation.but(run=conversation.run.but(calls=conversation.run.calls + calls))


def ends_with(conversation: Conversation) -> bool:
    """Whether the claimed message is the one that ends the conversation: none is accepted behind it."""
    return conversation.ending and not conversation.inbox and conversation.run.message_id is not None


def cancel(conversation: Conversation, *, now: float) -> Conversation:
    """Ask the current turn to stop. Unchanged if there is none, if it was asked before, or if it is too late:
    its reply is being recorded, or it is the one that ends the conversation.
    """
    if conversation.run.message_id is None or conversation.cancelled:
        return conversation
    if ends_with(conversation) or conversation.phase is Phase.RECORDING_REPLY:
        return conversation
    return decide_all(conversation, Outcome.CANCELLED, now).but(cancelled=True)


def finish_turn(
    conversation: Conversation,
    run_id: RunId,
    turn: int,
    *,
    reply_ref: str | None,
    summary: str,
    last_seq: int,
    now: float,
) -> Conversation:
    """Close that turn, answered, failed or cancelled alike; unchanged if it is closed already.

    The last message of a thread that ends is the one that ends it: closed as a turn, it failed to.
    """
    require_run(conversation, run_id)
    if conversation.turn is None or conversation.turn != turn:
        return conversation
    turns = conversation.run.turns + 1
    run = conversation.run.but(message_id=None, deaths=0, turns=turns, paused_until=0.0)
    return conversation.but(
        run=run,
        turn=None,
        turns=conversation.turn,
        proposals=(),
        cancelled=False,
        ending=conversation.ending and bool(conversation.inbox),
        phase=Phase.THINKING if conversation.inbox else Phase.WAITING_FOR_INPUT,
        last_reply_ref=reply_ref or conversation.last_reply_ref,
        summary=summary[-SUMMARY_LIMIT:],
        last_seq=max(last_seq, conversation.last_seq),
        updated_at=now,
    )


def should_hand_over(conversation: Conversation) -> bool:
    """Whether this run has done its share."""
    run = conversation.run
    return run.message_id is None and (run.turns >= run.turns_per_run or run.calls >= CALLS_PER_RUN)


def hand_over(conversation: Conversation, run_id: RunId, terms: RunTerms, now: float) -> Conversation:
    """Continue as new: generation + 1, to be started. The inbox stays where it is.

    So does a message that was claimed since the last turn, by a ReceiveMessage that had been given up.
    """
    require_run(conversation, run_id)
    changed = _next_generation(conversation, terms, now)
    run = changed.run.but(message_id=conversation.run.message_id)
    over = record_of(conversation.run, "continued", stopped_at=now)
    return changed.but(run=run, phase=Phase.CONTINUING_AS_NEW, untold=(*changed.untold, over))


def close_run(conversation: Conversation, run_id: RunId, now: float) -> Conversation:
    """End the run for inactivity; unchanged if a message came after all."""
    require_run(conversation, run_id)
    run = conversation.run
    if run.message_id or conversation.inbox:
        return conversation
    closed = run.but(status=RunStatus.CLOSED, token=None)
    over = record_of(run, "inactive", stopped_at=now)
    return conversation.but(run=closed, phase=Phase.WAITING_FOR_INPUT, untold=(*conversation.untold, over))


def told(conversation: Conversation, entries: tuple[RunRecord, ...], last_seq: int) -> Conversation:
    """These ends are recorded, and in the log at ``last_seq`` at the latest."""
    left = tuple(entry for entry in conversation.untold if entry not in entries)
    if left == conversation.untold:
        return conversation
    return note_seq(conversation.but(untold=left), last_seq)


def note_seq(conversation: Conversation, last_seq: int) -> Conversation:
    """Remember how far the log goes, for when its last events have expired.

    Not within a turn: what a rerun has to read again begins at ``last_seq``.
    """
    if conversation.turn is not None or conversation.last_seq >= last_seq:
        return conversation
    return conversation.but(last_seq=last_seq)


def complete(conversation: Conversation, run_id: RunId, *, now: float) -> Conversation:
    """End the conversation for good."""
    require_run(conversation, run_id)
    over = record_of(conversation.run, Phase.COMPLETED.value, stopped_at=now)
    closed = conversation.run.but(status=RunStatus.CLOSED, token=None, message_id=None)
    changed = conversation.but(run=closed, phase=Phase.COMPLETED, inbox=(), turn=None, ending=True)
    return changed.but(cancelled=False, untold=(*changed.untold, over), updated_at=now)


def new_attempt(conversation: Conversation, dead: RunId) -> Conversation:
    """Start the run again after its execution ``dead`` died; unchanged if another attempt speaks already.

    A death counts against the message that the run had claimed, if it had; not that of a cancelled turn, whose
    execution is given up because it does not look.
    """
    if conversation.run_id != dead or conversation.run.status is RunStatus.CLOSED:
        return conversation
    run = conversation.run
    deaths = run.deaths + (not conversation.cancelled) if run.message_id else 0
    run = run.but(attempt=dead.attempt + 1, deaths=deaths, status=RunStatus.STARTING, token=None, order="")
    run = run.but(paused_until=0.0)
    tokenless = tuple(entry.but(token=None, order="") for entry in conversation.proposals)
    return conversation.but(run=run, proposals=tokenless)
