"""Waiting for a provider that asked for it, and why nobody who cancels has to wait with it."""

from __future__ import annotations

from parley.domain.conversation import Conversation, RunId, require_run


def pause(conversation: Conversation, run_id: RunId, until: float) -> Conversation:
    """A task of the run waits for its provider until then: a cancel need not wait with it.

    Unchanged if the turn is cancelled already: the caller looks.
    """
    require_run(conversation, run_id)
    if conversation.cancelled or conversation.run.paused_until >= until:
        return conversation
    return conversation.but(run=conversation.run.but(paused_until=until))


def waits_in_vain(conversation: Conversation, now: float) -> bool:
    """Whether the turn is cancelled and its run would see it only when its provider's time is over."""
    return conversation.cancelled and conversation.run.paused_until > now
