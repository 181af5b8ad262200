"""BuildPrompt: open the turn once, then compose and store the prompt of the next model call."""

from __future__ import annotations

from typing import Any

from parley.domain import keys
from parley.domain.agents import Agent, ClassFunction
from parley.domain.conversation import DEAD_ATTEMPTS
from parley.domain.errors import TurnGivenUp
from parley.domain.messages import Message
from parley.domain.protocol import ends_with, open_turn
from parley.prompts.build import build_prompt as compose
from parley.prompts.file_tree import file_tree
from parley.prompts.prompt import MessageForm, Prompt
from parley.turns import conversations, history
from parley.turns.accepted import AcceptedMessage, mark_applied, read_accepted
from parley.turns.event_log import EventLog
from parley.turns.files import ProjectFiles
from parley.turns.imported import imported_prompt
from parley.turns.moderation import refuse_if_flagged, without_flagged
from parley.turns.predefined import with_content
from parley.turns.projects import get_agent
from parley.turns.records import put_once
from parley.turns.rollout_ports import PromptFacts
from parley.turns.runtime import Runtime
from parley.turns.task import Scope, Task, enter

FILES_LOOKED_AT = 1_000
"""For a prompt's file tree: one request to S3."""
SUMMED_UP = 20
"""Messages before the window that a prompt sums up: their digest is about as long as a summary may be."""


def build_prompt(runtime: Runtime, task: Task) -> dict[str, Any]:
    """Returns ``{"next", "turn", "step", "seq"}``; ``next`` is the state that follows."""
    scope = enter(runtime, task)
    conversation = scope.conversation
    if conversation.run.message_id is None:
        return _next("ReceiveMessage", scope)
    if conversation.run.deaths >= DEAD_ATTEMPTS:
        raise TurnGivenUp("The work on this message was interrupted too often. Please send it again.")
    agent = get_agent(runtime, conversation.project_id, scope.agent_id)
    seq = task.input.turn.seq
    if scope.subthread is None:
        if conversation.turn is None and ends_with(conversation):
            return _next("CompleteConversation", scope)
        accepted = read_accepted(runtime, conversation.thread_id, conversation.run.message_id)
        scope, seq = _open(runtime, task, scope, agent, accepted)
    if scope.conversation.cancelled:
        return _next("RecordReply", scope, seq=seq)
    return _next("InvokeModel", scope, _compose(runtime, task, scope, agent), seq)


def _next(state: str, scope: Scope, step: int = 0, seq: int | None = None) -> dict[str, Any]:
    return {"next": state, "turn": scope.turn, "step": step, "seq": seq}


def _open(
    runtime: Runtime, task: Task, scope: Scope, agent: Agent, accepted: AcceptedMessage
) -> tuple[Scope, int | None]:
    """Open the root's turn and record the user's message; on later steps nothing is written.

    Returns with the scope how far the event log has come, at least, if that is known.
    """
    run_id, message_id = task.run.run_id, accepted.message_id
    first_time = not accepted.applied
    start = scope.conversation.last_seq
    log = EventLog(runtime, scope.conversation, rerun=task.rerun, start=start) if first_time else None
    stored = conversations.change_stored(
        runtime,
        run_id.thread_id,
        lambda c: open_turn(
            c,
            run_id,
            message_id,
            last_seq=log.last_seq if log else 0,
            policy=agent.on_message_while_pending,
            propose_actions=agent.propose_actions,
        ),
        known=scope.stored,
    )
    opened = Scope(stored, scope.thread_id, scope.agent_id, stored.value.turn or 0)
    if log is None:
        return opened, task.input.turn.seq
    history.record_user_message(runtime, opened, log, with_content(runtime, task, agent, accepted))
    mark_applied(runtime, stored.value.thread_id, accepted, opened.turn)
    return opened, log.last_seq


def _compose(runtime: Runtime, task: Task, scope: Scope, agent: Agent) -> int:
    """The step that the model is asked for next, its prompt stored."""
    messages = history.recent(runtime, scope, agent.history_window + SUMMED_UP)
    _require_unsealed(scope, messages)
    step = history.current_step(messages, scope.turn)
    if any(m.turn == scope.turn and m.step == step and m.role == "assistant" for m in messages):
        return step
    if step == 1 and refuse_if_flagged(runtime, task, scope, agent, messages):
        return step
    shown = without_flagged(messages)
    prompt = _prompt(runtime, scope, agent, shown, final=step > agent.max_iterations)
    put_once(
        runtime,
        scope.partition,
        keys.prompt(scope.thread_id, scope.turn, step),
        prompt,
        expires_at=int(runtime.clock.now() + runtime.settings.event_retention_seconds),
    )
    return step


def _require_unsealed(scope: Scope, messages: list[Message]) -> None:
    """Raises TurnGivenUp if a FailTurn that died had sealed the turn: another one finishes what it began."""
    for message in messages:
        if message.turn == scope.turn and message.kind in history.SEALS:
            raise TurnGivenUp(message.content)


def _prompt(runtime: Runtime, scope: Scope, agent: Agent, messages: list[Message], *, final: bool) -> Prompt:
    provider = runtime.providers.get(agent.provider)
    return compose(
        agent,
        provider.capabilities(),
        messages,
        system_prompt=scope.subthread.system_prompt
        if scope.subthread
        else imported_prompt(runtime, scope.conversation),
        file_tree=_file_tree(runtime, scope, agent),
        context=_context(runtime, scope, agent),
        final=final,
        form=_form(runtime, scope, agent),
    )


def _form(runtime: Runtime, scope: Scope, agent: Agent) -> MessageForm:
    conversation = scope.conversation
    return runtime.flags.message_form(
        PromptFacts(
            provider=agent.provider,
            model=agent.model,
            agent_id=agent.agent_id,
            project_id=conversation.project_id,
            user_id=conversation.user_id,
            thread_id=conversation.thread_id,
        )
    )


def _file_tree(runtime: Runtime, scope: Scope, agent: Agent) -> str:
    """The project's files, if the agent works with them: one listing, whatever their number."""
    if not agent.workspace:
        return ""
    found = ProjectFiles(runtime.blobs, scope.conversation.project_id).list(limit=FILES_LOOKED_AT)
    return file_tree((file.path for file in found), more=len(found) == FILES_LOOKED_AT)


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
