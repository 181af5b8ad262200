"""Cancelling the current turn of a thread."""

from __future__ import annotations

from parley.domain.protocol import cancel as cancel_rule
from parley.turns import conversations, projects
from parley.turns.runtime import Runtime


def cancel(runtime: Runtime, user_id: str, project_id: str, thread_id: str) -> bool:
    """Ask the turn to stop; whether it will end as cancelled, by this request or one before.

    False if there is none, or if its end is being recorded. Tasks see it when they begin, streams within a second;
    open proposals are answered ``cancelled``.
    """
    stored = projects.require_thread(runtime, user_id, project_id, thread_id)
    conversation = conversations.change(
        runtime, thread_id, lambda c: cancel_rule(c, now=runtime.clock.now()), known=stored
    )
    conversations.send_signals(runtime, conversation)
    return conversation.cancelled
