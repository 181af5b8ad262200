"""ProposeActions: what the person might ask next, written by the model after the reply. Absent when that fails.

The turn is over and the reply is out. A message that is waiting, or comes meanwhile, is worth more: it is never
kept waiting for suggestions that it makes stale.
"""

from __future__ import annotations

from typing import Any

from parley.domain.agents import Agent
from parley.domain.conversation import Conversation
from parley.domain.errors import ProviderError
from parley.domain.events import EventName
from parley.domain.messages import Message
from parley.domain.protocol import note_seq
from parley.prompts.build import merge_capabilities
from parley.prompts.prompt import Prompt
from parley.prompts.suggestions import ProposedAction, read_suggestions, suggestions_prompt
from parley.turns import conversations, history
from parley.turns.closing import after_turn
from parley.turns.model_call import write
from parley.turns.moderation import is_refusal
from parley.turns.projects import get_agent
from parley.turns.runtime import Runtime
from parley.turns.streaming import Interrupted
from parley.turns.task import Scope, Task, enter, open_log

_QUOTED = 6
"""Messages of the turn that are looked at."""


def propose_actions(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"next"}``. Whatever the provider does, the thread goes on."""
    scope = enter(runtime, task)
    turn = scope.conversation.turns
    told = Scope(scope.stored, scope.thread_id, scope.agent_id, turn)
    actions = _actions(runtime, task, told) if _is_idle(scope.conversation) else []
    if actions:
        event = told.event(
            EventName.ProposeActions,
            f"turn:{turn}:actions",
            actions=[action.model_dump() for action in actions],
        )
        log = open_log(runtime, task, scope)
        log.append(event)
        conversations.change(
            runtime, task.run.thread_id, lambda c: note_seq(c, log.last_seq), known=scope.stored
        )
    return {"next": after_turn(scope.conversation)}


def _is_idle(conversation: Conversation) -> bool:
    """Whether nobody waits for the thread to go on."""
    return not conversation.inbox and conversation.run.message_id is None


def _actions(runtime: Runtime, task: Task, scope: Scope) -> list[ProposedAction]:
    agent = get_agent(runtime, scope.conversation.project_id, scope.agent_id)
    shown = [m for m in history.recent(runtime, scope, _QUOTED) if m.turn == scope.turn]
    if any(is_refusal(message) for message in shown):
        return []  # what was flagged reaches no model
    try:
        prompt = _prompt(runtime, agent, shown)
        return read_suggestions(write(runtime, prompt, lambda: _is_idle(enter(runtime, task).conversation)))
    except (ProviderError, Interrupted):
        return []


def _prompt(runtime: Runtime, agent: Agent, shown: list[Message]) -> Prompt:
    capabilities = merge_capabilities(
        runtime.providers.get(agent.provider).capabilities(), agent.capabilities
    )
    return suggestions_prompt(agent, capabilities, shown)
