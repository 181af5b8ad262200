"""Cancelling the current turn of a thread."""

from __future__ import annotations

from parley.domain.conversation import Conversation
from parley.domain.protocol import cancel as cancel_rule
from parley.turns import conversations, projects
from parley.turns.runtime import Runtime


def cancel(runtime: Runtime, user_id: str, project_id: str, thread_id: str) -> bool:
    """Ask the turn to stop. False if there is none, or it was asked before.

    Tasks see it when they begin, streams within a second; open proposals are answered ``cancelled``.
    """
    stored = projects.require_thread(runtime, user_id, project_id, thread_id)
    asked = False

    def rule(conversation: Conversation) -> Conversation:
        nonlocal asked
        changed = cancel_rule(conversation, now=runtime.clock.now())
        asked = changed is not conversation
        return changed

    conversation = conversations.change(runtime, thread_id, rule, known=stored)
    conversations.send_signals(runtime, conversation)
    return asked
