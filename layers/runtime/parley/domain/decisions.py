"""The rules by which a thread's proposals are made and decided: the part of ``protocol`` that is about them.

Whatever decides comes through here: a person, a newer message, a cancel, time, the end of the turn. The first
one wins; past ``expires_at`` the outcome is EXPIRED whoever comes.
"""

from __future__ import annotations

from collections.abc import Iterable

from parley.domain.conversation import Conversation, OpenProposal, Phase, RunId, require_run
from parley.domain.errors import Conflict, StaleRun
from parley.domain.proposals import Outcome


def undecided(conversation: Conversation) -> list[OpenProposal]:
    """The proposals of the tree that still wait."""
    return [entry for entry in conversation.proposals if entry.outcome is None]


def decide_all(
    conversation: Conversation, outcome: Outcome, now: float, *, of: str | None = None
) -> Conversation:
    """Decide everything that waits, or all that waits in the thread ``of``; unchanged if nothing does."""
    waiting = [entry for entry in undecided(conversation) if of is None or entry.thread_id == of]
    if not waiting:
        return conversation
    decided = tuple(
        entry.but(outcome=_in_time(entry, outcome, now)) if entry in waiting else entry
        for entry in conversation.proposals
    )
    return conversation.but(proposals=decided)


def _in_time(entry: OpenProposal, outcome: Outcome, now: float) -> Outcome:
    return Outcome.EXPIRED if now >= entry.expires_at else outcome


def supersede(conversation: Conversation, now: float) -> Conversation:
    """What a new message does to the proposals that wait, by the agent's policy.

    Raises Conflict (``confirmation_pending``) if it may not be written before they are decided.
    """
    match conversation.on_message_while_pending:
        case "queue":
            return conversation
        case "supersede":
            return decide_all(conversation, Outcome.SUPERSEDED, now)
        case "reject":
            waiting = [entry.proposal_id for entry in undecided(conversation) if now < entry.expires_at]
            if waiting:
                raise Conflict(
                    "confirmation_pending",
                    "An action waits for a decision in this thread; decide it before you write again.",
                    proposal_ids=waiting,
                )
            return conversation


def register(
    conversation: Conversation, run_id: RunId, turn: int | None, proposals: Iterable[OpenProposal]
) -> Conversation:
    """All proposals of one reply at once, so that nobody sees, decides or supersedes some of them only.

    Those that are there already stay as they are. Raises StaleRun if ``turn``, the root's open turn, is over.
    """
    require_run(conversation, run_id)
    if conversation.turn != turn:
        raise StaleRun(f"turn {turn} is over")
    new = [entry for entry in proposals if conversation.proposal(entry.proposal_id) is None]
    return _with_phase(conversation.but(proposals=(*conversation.proposals, *_begun(conversation, new))))


def _begun(conversation: Conversation, proposals: Iterable[OpenProposal]) -> list[OpenProposal]:
    """In a cancelled turn they are decided before anybody sees them."""
    outcome = Outcome.CANCELLED if conversation.cancelled else None
    return [entry.but(outcome=outcome) for entry in proposals]


def _with_phase(conversation: Conversation) -> Conversation:
    waits = bool(undecided(conversation)) and conversation.phase is not Phase.AWAITING_APPROVAL
    return conversation.but(phase=Phase.AWAITING_APPROVAL) if waits else conversation


def propose(
    conversation: Conversation, run_id: RunId, turn: int | None, proposal: OpenProposal
) -> Conversation:
    """Wait for a decision with the proposal's token.

    Entered again, the token is replaced. If the result has an outcome, the caller answers the token at once.
    Raises StaleRun if ``turn``, the root's open turn, is over, or if a task of a later order waits already.
    """
    registered = register(conversation, run_id, turn, [proposal])
    known = registered.proposal(proposal.proposal_id)
    if known is None or proposal.order < known.order:
        raise StaleRun(f"a later task waits for the decision on {proposal.proposal_id}")
    shown = {"shown_seq": proposal.shown_seq, "shown_at": proposal.shown_at}
    fresh = known.but(token=proposal.token, order=proposal.order, **shown)
    return registered.but(
        proposals=tuple(fresh if entry is known else entry for entry in registered.proposals)
    )


def decide(
    conversation: Conversation,
    proposal_id: str,
    outcome: Outcome,
    *,
    decision: str | None,
    now: float,
    early: OpenProposal | None = None,
) -> Conversation:
    """Record the decision, if the proposal is undecided; past ``expires_at`` the outcome is EXPIRED.

    ``early``: the proposal, if it is of the open turn: its record is seen a moment before it is registered.
    Unchanged if it was decided before or is not of the current turn.
    """
    if early is not None and conversation.proposal(proposal_id) is None:
        begun = (*conversation.proposals, *_begun(conversation, [early]))
        conversation = conversation.but(proposals=begun)
    entry = conversation.proposal(proposal_id)
    if entry is None or entry.outcome is not None:
        return conversation
    what = _in_time(entry, outcome, now)
    decided = entry.but(outcome=what, decision=decision if what is outcome else None)
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
    taken = conversation.but(
        proposals=tuple(entry if other is known else other for other in conversation.proposals)
    )
    if entry.outcome is Outcome.APPROVED and not undecided(taken):
        return taken.but(phase=Phase.APPLYING_ACTION)
    return taken


def close_call(conversation: Conversation, run_id: RunId, proposal_id: str, *, now: float) -> Conversation:
    """The call has its response: nobody waits on its proposal, and nobody can approve it any more."""
    require_run(conversation, run_id)
    known = conversation.proposal(proposal_id)
    if known is None or (known.outcome and known.token is None):
        return conversation
    entry = known.but(token=None, outcome=known.outcome or _in_time(known, Outcome.CANCELLED, now))
    entries = tuple(entry if other is known else other for other in conversation.proposals)
    return conversation.but(proposals=entries)


def withdraw(
    conversation: Conversation, run_id: RunId, turn: int | None, thread_id: str, *, now: float
) -> Conversation:
    """The turn of ``thread_id`` ends: what waits there is cancelled; with the root's, what waits anywhere.

    Saved before anything else is closed, so that nobody is told of an approval that has no effect.
    Unchanged if ``turn``, the root's open turn, is over.
    """
    require_run(conversation, run_id)
    if conversation.turn != turn:
        return conversation
    of = None if thread_id == conversation.thread_id else thread_id
    return decide_all(conversation, Outcome.CANCELLED, now, of=of)
