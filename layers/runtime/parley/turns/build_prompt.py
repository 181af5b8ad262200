"""BuildPrompt: open the turn once, then compose and store the prompt of the next model call."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.agents import Agent, Capabilities, ClassFunction
from parley.domain.conversation import DEAD_ATTEMPTS
from parley.domain.errors import ParleyError
from parley.domain.messages import Message
from parley.domain.protocol import open_turn
from parley.prompts.build import build_prompt as compose
from parley.prompts.prompt import Prompt
from parley.turns import conversations, history
from parley.turns.accepted import AcceptedMessage, mark_applied, read_accepted
from parley.turns.projects import get_agent
from parley.turns.records import Stored, put_once
from parley.turns.runtime import Runtime
from parley.turns.task import Scope, Task, enter, open_log

END_COMMAND = "/end"
"""The message that completes a thread instead of being answered."""


class TurnGivenUp(ParleyError):
    """The run's execution died too often on this message."""


def build_prompt(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"next", "turn", "step"}``; ``next`` is the state that follows."""
    scope = enter(runtime, task)
    conversation = scope.conversation
    if conversation.run.message_id is None:
        return _next("ReceiveMessage", scope)
    if conversation.run.deaths >= DEAD_ATTEMPTS:
        raise TurnGivenUp("The work on this message was interrupted too often. Please send it again.")
    agent = get_agent(runtime, conversation.project_id, scope.agent_id)
    if scope.subthread is None:
        accepted = read_accepted(runtime, conversation.thread_id, conversation.run.message_id)
        if accepted.content is not None and accepted.content.strip() == END_COMMAND:
            return _next("CompleteConversation", scope)
        scope = _open(runtime, task, scope, agent, accepted)
    if scope.conversation.cancelled:
        return _next("RecordReply", scope)
    return _compose(runtime, scope, agent)


def _next(state: str, scope: Scope, step: int = 0) -> dict[str, Any]:
    return {"next": state, "turn": scope.turn, "step": step}


def _open(runtime: Runtime, task: Task, scope: Scope, agent: Agent, accepted: AcceptedMessage) -> Scope:
    """Open the root's turn and record the user's message; on later steps nothing is written."""
    run_id, message_id = task.run.run_id, accepted.message_id
    first_time = accepted.content is not None
    log = open_log(runtime, task, scope) if first_time else None
    seq = log.last_seq if log else 0
    policy = agent.on_message_while_pending
    conversation = conversations.change(
        runtime,
        run_id.thread_id,
        lambda c: open_turn(c, run_id, message_id, last_seq=seq, policy=policy),
        known=scope.stored,
    )
    turn = conversation.turn or 0
    opened = Scope(Stored(conversation, 0), scope.thread_id, scope.agent_id, turn)
    if log is None:
        return opened
    history.record_user_message(runtime, opened, log, accepted)
    mark_applied(runtime, conversation.thread_id, accepted, turn)
    return opened


def _compose(runtime: Runtime, scope: Scope, agent: Agent) -> dict[str, Any]:
    messages = history.recent(runtime, scope, agent.history_window)
    step = history.current_step(messages, scope.turn)
    if any(m.turn == scope.turn and m.step == step and m.role == "assistant" for m in messages):
        return _next("InvokeModel", scope, step)
    prompt = _prompt(runtime, scope, agent, messages, final=step > agent.max_iterations)
    put_once(
        runtime,
        scope.partition,
        keys.prompt(scope.thread_id, scope.turn, step),
        prompt,
        expires_at=int(runtime.clock.now() + runtime.settings.event_retention_seconds),
    )
    return _next("InvokeModel", scope, step)


def _prompt(runtime: Runtime, scope: Scope, agent: Agent, messages: list[Message], *, final: bool) -> Prompt:
    provider = runtime.providers.get(agent.provider)
    overridden = {**provider.capabilities().model_dump(), **agent.capabilities}
    return compose(
        agent,
        Capabilities.model_validate(overridden),
        messages,
        summary=scope.conversation.summary if scope.subthread is None else "",
        system_prompt=scope.subthread.system_prompt if scope.subthread else None,
        context=_context(runtime, scope, agent),
        final=final,
    )


def _context(runtime: Runtime, scope: Scope, agent: Agent) -> list[str]:
    """What the agent's function classes want a prompt that offers them to say."""
    conversation = scope.conversation
    return runtime.functions.prompt_context(
        [
            function.implementation.class_name
            for function in agent.functions
            if isinstance(function.implementation, ClassFunction)
        ],
        user_id=conversation.user_id,
        project_id=conversation.project_id,
        agent_id=agent.agent_id,
        thread_id=scope.thread_id,
    )
