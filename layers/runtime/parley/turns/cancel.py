"""Cancelling the current turn of a thread."""

from __future__ import annotations

from parley.domain.patience import waits_in_vain
from parley.domain.protocol import cancel as cancel_rule
from parley.turns import conversations, projects
from parley.turns.runtime import Runtime


def cancel(runtime: Runtime, user_id: str, project_id: str, thread_id: str) -> bool:
    """Ask the turn to stop; whether it will end as cancelled, by this request or one before.

    False if there is none, or if its end is being recorded. Tasks see it when they begin, streams within a second;
    open proposals are answered ``cancelled``. A run that waits for a provider is left to its wait, behind which it is
    stale: its next attempt ends the turn.
    """
    stored = projects.require_thread(runtime, user_id, project_id, thread_id)
    now = runtime.clock.now()
    stored = conversations.change_stored(runtime, thread_id, lambda c: cancel_rule(c, now=now), known=stored)
    if waits_in_vain(stored.value, now):
        stored = conversations.start_again(runtime, stored, lambda c: waits_in_vain(c, now))
    conversations.send_signals(runtime, stored.value)
    return stored.value.cancelled
