"""ProposeActions: what the person might ask next, written by the model after the reply. Absent when that fails."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from parley.domain.agents import Agent
from parley.domain.errors import ParleyError
from parley.domain.events import EventName
from parley.domain.messages import Message, MessageKind
from parley.domain.protocol import note_seq
from parley.domain.values import Value
from parley.prompts.build import merge_capabilities
from parley.prompts.prompt import Prompt, PromptMessage
from parley.turns import conversations, history
from parley.turns.closing import after_turn
from parley.turns.model_ports import TextDelta
from parley.turns.projects import get_agent
from parley.turns.runtime import Runtime
from parley.turns.task import Scope, Task, enter, open_log

ACTION_LIMIT = 4
_ASK = (
    "Suggest up to three things that the person may want to ask or do next. Answer with nothing but a JSON "
    'array such as [{"label": "Analyze trends", "message": "Analyze the sales trends of these products"}].'
)


class ProposedAction(Value):
    """A button: ``message`` is what a click sends."""

    label: str = Field(min_length=1, max_length=80)
    message: str = Field(min_length=1, max_length=2000)


_ACTIONS = TypeAdapter(list[ProposedAction])


def propose_actions(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"next"}``. Whatever the provider does, the thread goes on."""
    scope = enter(runtime, task)
    agent = get_agent(runtime, scope.conversation.project_id, scope.agent_id)
    turn = scope.conversation.turns
    told = Scope(scope.stored, scope.thread_id, scope.agent_id, turn)
    try:
        actions = parse_actions(_ask(runtime, told, agent))
    except ParleyError:
        actions = []
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


def _ask(runtime: Runtime, scope: Scope, agent: Agent) -> str:
    provider = runtime.providers.get(agent.provider)
    shown = [message for message in history.recent(runtime, scope, 6) if message.turn == scope.turn]
    talk = [_line(message) for message in shown if _spoken(message)]
    prompt = Prompt(
        provider=agent.provider,
        model=agent.model,
        capabilities=merge_capabilities(provider.capabilities(), agent.capabilities),
        system=_ASK,
        messages=(PromptMessage(role="user", content="\n".join(talk) + "\n\n" + _ASK),),
        settings={key: value for key, value in agent.settings.items() if key != "script"},
    )
    return "".join(delta.text for delta in provider.stream(prompt) if isinstance(delta, TextDelta))


def _spoken(message: Message) -> bool:
    return message.kind in (MessageKind.USER_MESSAGE, MessageKind.ASSISTANT_MESSAGE) and bool(message.content)


def _line(message: Message) -> str:
    return f"{'User' if message.role == 'user' else 'Assistant'}: {message.content[:2000]}"


def parse_actions(text: str) -> list[ProposedAction]:
    """The suggestions in a model's answer, however it wrapped them; empty if there are none to read."""
    found = re.search(r"\[.*\]", text, re.DOTALL)
    if not found:
        return []
    try:
        return _ACTIONS.validate_python(json.loads(found.group()))[:ACTION_LIMIT]
    except (ValueError, ValidationError, RecursionError):
        return []
