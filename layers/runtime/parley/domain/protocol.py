"""The protocol of a thread: every rule by which the aggregate changes.

Each is a pure function ``rule(conversation, …) -> conversation``. The caller loads, applies, saves if the
item is unchanged, and tries again on a conflict; a result that is the very same object needs no save.
Decision record 2 tells the protocol as a table of states and moves.
"""

from __future__ import annotations

from parley.domain.agents import MessagePolicy
from parley.domain.conversation import (
    CALLS_PER_RUN,
    QUEUE_LIMIT,
    SUMMARY_LIMIT,
    Conversation,
    OpenProposal,
    Phase,
    Run,
    RunId,
    RunStatus,
    RunTerms,
)
from parley.domain.errors import Conflict, StaleRun, TooManyQueued
from parley.domain.proposals import Outcome


def new_conversation(
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
    changed = _supersede(conversation)
    changed = changed.but(inbox=(*changed.inbox, message_id), ending=ending, active_at=now, updated_at=now)
    if changed.run.status is RunStatus.CLOSED:
        changed = _next_generation(changed, terms, now).but(phase=Phase.THINKING)
    if changed.run.status in (RunStatus.PARKED, RunStatus.STARTING):
        changed = _claim(changed)
    return changed


def _supersede(conversation: Conversation) -> Conversation:
    undecided = [entry for entry in conversation.proposals if entry.outcome is None]
    if not undecided or conversation.on_message_while_pending == "queue":
        return conversation
    if conversation.on_message_while_pending == "reject":
        raise Conflict(
            "confirmation_pending",
            "An action waits for a decision in this thread; decide it before you write again.",
            proposal_ids=[entry.proposal_id for entry in undecided],
        )
    return _decide_all(conversation, Outcome.SUPERSEDED)


def _decide_all(conversation: Conversation, outcome: Outcome) -> Conversation:
    decided = (entry if entry.outcome else entry.but(outcome=outcome) for entry in conversation.proposals)
    return conversation.but(proposals=tuple(decided))


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


def require_run(conversation: Conversation, run_id: RunId) -> Conversation:
    """Raises StaleRun unless ``run_id`` is the run that may act."""
    if conversation.run_id != run_id or conversation.run.status is RunStatus.CLOSED:
        raise StaleRun(f"run {run_id.generation}, attempt {run_id.attempt} no longer speaks for this thread")
    return conversation


def receive(conversation: Conversation, run_id: RunId, token: str) -> Conversation:
    """Hand out the claimed message, or the next, or park with ``token``.

    Parked afterwards means: wait. Otherwise the caller answers its own token once this is saved.
    """
    require_run(conversation, run_id)
    claimed = _claim(conversation)
    if claimed.run.message_id:
        return claimed.but(run=claimed.run.but(status=RunStatus.RUNNING, token=None))
    run = conversation.run.but(status=RunStatus.PARKED, token=token)
    return conversation.but(run=run, phase=Phase.WAITING_FOR_INPUT)


def open_turn(
    conversation: Conversation, run_id: RunId, *, last_seq: int, policy: MessagePolicy
) -> Conversation:
    """Begin the turn of the claimed message, or carry on with it; nothing claimed: unchanged."""
    require_run(conversation, run_id)
    run = conversation.run
    if run.message_id is None:
        return conversation
    changed = conversation
    if run.status is not RunStatus.RUNNING or run.token:
        changed = changed.but(run=run.but(status=RunStatus.RUNNING, token=None))
    if changed.turn is None:
        seq = max(changed.last_seq, last_seq)
        changed = changed.but(turn=changed.turns + 1, last_seq=seq, on_message_while_pending=policy)
    if changed.phase is not Phase.THINKING:
        changed = changed.but(phase=Phase.THINKING)
    return changed


def enter_phase(conversation: Conversation, run_id: RunId, phase: Phase) -> Conversation:
    """Show what the run does now."""
    require_run(conversation, run_id)
    return conversation if conversation.phase is phase else conversation.but(phase=phase)


def count_calls(conversation: Conversation, run_id: RunId, calls: int) -> Conversation:
    """Count a reply's tool calls against the run's bound."""
    require_run(conversation, run_id)
    return conversation.but(run=conversation.run.but(calls=conversation.run.calls + calls))


def propose(conversation: Conversation, run_id: RunId, proposal: OpenProposal) -> Conversation:
    """Wait for a decision with the proposal's token.

    Entered again, the token is replaced. If the result has an outcome, the caller answers the token at once.
    """
    require_run(conversation, run_id)
    known = conversation.proposal(proposal.proposal_id)
    if known is None:
        outcome = Outcome.CANCELLED if conversation.cancelled else None
        entries = (*conversation.proposals, proposal.but(outcome=outcome))
    else:
        fresh = known.but(token=proposal.token)
        entries = tuple(fresh if entry is known else entry for entry in conversation.proposals)
    phase = Phase.AWAITING_APPROVAL if any(entry.outcome is None for entry in entries) else conversation.phase
    return conversation.but(proposals=entries, phase=phase)


def decide(
    conversation: Conversation, proposal_id: str, outcome: Outcome, *, decision: str | None, now: float
) -> Conversation:
    """Record the decision, if the proposal is undecided; past ``expires_at`` the outcome is EXPIRED.

    Unchanged if the proposal was decided before or is not of the current turn.
    """
    entry = conversation.proposal(proposal_id)
    if entry is None or entry.outcome is not None:
        return conversation
    late = now >= entry.expires_at
    decided = entry.but(outcome=Outcome.EXPIRED if late else outcome, decision=None if late else decision)
    entries = tuple(decided if other is entry else other for other in conversation.proposals)
    return conversation.but(proposals=entries)


def take_decision(conversation: Conversation, run_id: RunId, proposal_id: str, *, now: float) -> Conversation:
    """The woken call reads its decision: expired by now if undecided and late; its token is used up.

    Still undecided afterwards means: wait again.
    """
    require_run(conversation, run_id)
    known = conversation.proposal(proposal_id)
    if known is None or (known.outcome is None and now < known.expires_at):
        return conversation
    entry = known.but(token=None, outcome=known.outcome or Outcome.EXPIRED)
    taken = tuple(entry if other is known else other for other in conversation.proposals)
    phase = Phase.APPLYING_ACTION if entry.outcome is Outcome.APPROVED else conversation.phase
    return conversation.but(proposals=taken, phase=phase)


def cancel(conversation: Conversation) -> Conversation:
    """Ask the current turn to stop; unchanged if there is none."""
    if conversation.run.message_id is None or conversation.cancelled:
        return conversation
    return _decide_all(conversation, Outcome.CANCELLED).but(cancelled=True)


def finish_turn(
    conversation: Conversation,
    run_id: RunId,
    *,
    reply_ref: str | None,
    summary: str,
    last_seq: int,
    now: float,
) -> Conversation:
    """Close the open turn, answered, failed or cancelled alike."""
    require_run(conversation, run_id)
    if conversation.turn is None:
        return conversation
    run = conversation.run.but(message_id=None, deaths=0, turns=conversation.run.turns + 1)
    return conversation.but(
        run=run,
        turn=None,
        turns=conversation.turn,
        proposals=(),
        cancelled=False,
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
    """Continue as new: generation + 1, to be started. The inbox stays where it is."""
    require_run(conversation, run_id)
    return _next_generation(conversation, terms, now).but(phase=Phase.CONTINUING_AS_NEW)


def close_run(conversation: Conversation, run_id: RunId) -> Conversation:
    """End the run for inactivity; unchanged if a message came after all."""
    require_run(conversation, run_id)
    run = conversation.run
    if run.message_id or conversation.inbox:
        return conversation
    closed = run.but(status=RunStatus.CLOSED, token=None)
    return conversation.but(run=closed, phase=Phase.WAITING_FOR_INPUT)


def complete(conversation: Conversation, run_id: RunId, *, last_seq: int, now: float) -> Conversation:
    """End the conversation for good."""
    require_run(conversation, run_id)
    closed = conversation.run.but(status=RunStatus.CLOSED, token=None, message_id=None)
    seq = max(last_seq, conversation.last_seq)
    changed = conversation.but(run=closed, phase=Phase.COMPLETED, inbox=(), turn=None, ending=True)
    return changed.but(last_seq=seq, updated_at=now)


def new_attempt(conversation: Conversation, dead: RunId) -> Conversation:
    """Start the run again after its execution ``dead`` died; unchanged if another attempt speaks already."""
    if conversation.run_id != dead or conversation.run.status is RunStatus.CLOSED:
        return conversation
    run = conversation.run.but(
        attempt=dead.attempt + 1, deaths=conversation.run.deaths + 1, status=RunStatus.STARTING, token=None
    )
    tokenless = tuple(entry.but(token=None) for entry in conversation.proposals)
    return conversation.but(run=run, proposals=tokenless)
