"""Accepting a message: body first, then one save of the aggregate, then the signal. Answers before any AI work."""

from __future__ import annotations

import uuid

from pydantic import Field

from parley.domain import keys
from parley.domain.agents import Agent
from parley.domain.conversation import Conversation, RunStatus, RunTerms
from parley.domain.errors import Conflict, InvalidRequest, Refusal
from parley.domain.protocol import accept, new_conversation
from parley.domain.values import Value
from parley.turns import conversations, projects
from parley.turns.accepted import MESSAGE_LIMIT, AcceptedMessage, fingerprint_of, read_accepted
from parley.turns.ports import ConditionFailed
from parley.turns.records import Stored, load, put_once
from parley.turns.runtime import Runtime

TITLE_LIMIT = 200
END_COMMAND = "/end"
"""The message that completes a thread instead of being answered."""


class NewMessage(Value):
    """What a person posts: ``message`` or ``predefined_message``, never both."""

    message: str | None = Field(default=None, min_length=1, max_length=MESSAGE_LIMIT)
    predefined_message: str | None = None
    client_message_id: str | None = Field(default=None, min_length=1, max_length=200)
    turns_per_run: int | None = Field(default=None, ge=1, le=50, strict=True)
    inactivity_seconds: int | None = Field(default=None, ge=1, le=2_592_000, strict=True)
    generation: int | None = Field(default=None, ge=1, strict=True)


class MessageAccepted(Value):
    """Where the message is; the same again for a repeated POST."""

    thread_id: str
    message_id: str


def start_thread(
    runtime: Runtime, user_id: str, project_id: str, agent_id: str, message: NewMessage
) -> MessageAccepted:
    """Open a thread with its first message; a repeated POST finds the thread that it opened before."""
    projects.require_member(runtime, user_id, project_id)
    if message.generation is not None:
        raise InvalidRequest("invalid_request", "generation: a new thread has no run yet.")
    agent = projects.get_agent(runtime, project_id, agent_id)
    _require_one_content(message)
    title = message.message if message.message is not None else _predefined_title(agent, message)
    client_id = message.client_message_id
    thread_id = (
        keys.thread_id_for(user_id, project_id, agent_id, client_id) if client_id else str(uuid.uuid4())
    )
    accepted = _put_body(runtime, thread_id, message)
    conversation = new_conversation(
        thread_id=thread_id,
        user_id=user_id,
        project_id=project_id,
        agent_id=agent_id,
        title=title[:TITLE_LIMIT],
        message_id=accepted.message_id,
        ending=_is_end(message),
        policy=agent.on_message_while_pending,
        terms=RunTerms(
            message.turns_per_run or agent.turns_per_run,
            message.inactivity_seconds or agent.inactivity_seconds,
        ),
        turns_per_run=message.turns_per_run,
        inactivity_seconds=message.inactivity_seconds,
        now=runtime.clock.now(),
    )
    try:
        conversations.save(runtime, conversation, if_version=0)
    except ConditionFailed:
        conversation = conversations.get(runtime, thread_id)
    else:
        projects.note_use(runtime, project_id, user_id, agent_id)
    conversations.send_signals(runtime, conversation)
    return MessageAccepted(thread_id=thread_id, message_id=accepted.message_id)


def continue_thread(
    runtime: Runtime, user_id: str, project_id: str, thread_id: str, message: NewMessage
) -> MessageAccepted:
    """Queue a message in the thread's inbox and wake the run that waits for it, or start the next one."""
    stored = projects.require_thread(runtime, user_id, project_id, thread_id)
    _require_one_content(message)
    if message.predefined_message is not None:
        _predefined_title(projects.get_agent(runtime, project_id, stored.value.agent_id), message)
    try:
        _queued(runtime, stored.value, _accepted(runtime, thread_id, message).message_id, message)
    except Refusal as refusal:
        return _accepted_before(runtime, thread_id, message, refusal)
    accepted = _put_body(runtime, thread_id, message)
    if not accepted.applied:
        _queue(runtime, stored, accepted, message)
    return MessageAccepted(thread_id=thread_id, message_id=accepted.message_id)


def _accepted_before(
    runtime: Runtime, thread_id: str, message: NewMessage, refusal: Refusal
) -> MessageAccepted:
    """The answer to a repeated POST in a thread that takes no more; a new message is refused, and leaves nothing."""
    mine = _accepted(runtime, thread_id, message)
    known = load(runtime, keys.thread_partition(thread_id), keys.inbox(mine.message_id), AcceptedMessage)
    if known is None or not known.value.applied:
        raise refusal
    _require_same(known.value, mine)
    return MessageAccepted(thread_id=thread_id, message_id=mine.message_id)


def _queue(
    runtime: Runtime, stored: Stored[Conversation], accepted: AcceptedMessage, message: NewMessage
) -> None:
    """The aggregate was read before the body's marker; after a conflict the marker is read again.

    So a repeated POST never queues a message that another one queued and a turn answered meanwhile.
    """
    tries = 0

    def rule(conversation: Conversation) -> Conversation:
        nonlocal tries
        tries += 1
        thread_id, message_id = conversation.thread_id, accepted.message_id
        if tries > 1 and read_accepted(runtime, thread_id, message_id).applied:
            return conversation
        return _queued(runtime, conversation, message_id, message)

    conversation = conversations.change(runtime, stored.value.thread_id, rule, known=stored)
    conversations.send_signals(runtime, conversation)


def _queued(
    runtime: Runtime, conversation: Conversation, message_id: str, message: NewMessage
) -> Conversation:
    """The conversation with the message in its inbox. Raises what ``accept`` raises, and ``run_closed``."""
    if message_id == conversation.run.message_id or message_id in conversation.inbox:
        return conversation
    _require_open_run(conversation, message.generation)
    wished = conversation.but(
        turns_per_run=message.turns_per_run or conversation.turns_per_run,
        inactivity_seconds=message.inactivity_seconds or conversation.inactivity_seconds,
    )
    return accept(
        wished,
        message_id,
        terms=_next_terms(runtime, wished),
        ending=_is_end(message),
        now=runtime.clock.now(),
    )


def _next_terms(runtime: Runtime, conversation: Conversation) -> RunTerms:
    """Only a run that is over needs new ones: the agent is then read."""
    run = conversation.run
    if run.status is not RunStatus.CLOSED:
        return RunTerms(run.turns_per_run, run.inactivity_seconds)
    return run_terms(
        conversation, projects.read_agent(runtime, conversation.project_id, conversation.agent_id)
    )


def run_terms(conversation: Conversation, agent: Agent) -> RunTerms:
    """What the thread's next run is started with: the person's wish, or else the agent's setting."""
    return RunTerms(
        conversation.turns_per_run or agent.turns_per_run,
        conversation.inactivity_seconds or agent.inactivity_seconds,
    )


def _require_open_run(conversation: Conversation, generation: int | None) -> None:
    run = conversation.run
    if generation is None or (generation == run.generation and run.status is not RunStatus.CLOSED):
        return
    if generation > run.generation:
        raise InvalidRequest("invalid_request", f"generation: this thread is at run {run.generation}.")
    raise Conflict("run_closed", f"Run {generation} of this thread is over.")


def _is_end(message: NewMessage) -> bool:
    return message.message is not None and message.message.strip() == END_COMMAND


def _require_one_content(message: NewMessage) -> None:
    if (message.message is None) == (message.predefined_message is None):
        raise InvalidRequest("invalid_request", "Give either message or predefined_message.")


def _predefined_title(agent: Agent, message: NewMessage) -> str:
    predefined = agent.predefined_message(message.predefined_message or "")
    if predefined is None:
        known = ", ".join(entry.id for entry in agent.predefined_messages) or "none"
        raise InvalidRequest("invalid_request", f"predefined_message: the agent has {known}.")
    return predefined.title


def _accepted(runtime: Runtime, thread_id: str, message: NewMessage) -> AcceptedMessage:
    client_id = message.client_message_id
    return AcceptedMessage(
        message_id=keys.message_id_for(thread_id, client_id) if client_id else str(uuid.uuid4()),
        client_message_id=client_id,
        content=message.message,
        predefined_message=message.predefined_message,
        accepted_at=runtime.clock.now(),
        fingerprint=fingerprint_of(message.message, message.predefined_message),
    )


def _put_body(runtime: Runtime, thread_id: str, message: NewMessage) -> AcceptedMessage:
    """The body as it is stored: this one, or what an earlier POST with the same client id put there."""
    mine = _accepted(runtime, thread_id, message)
    stored = put_once(runtime, keys.thread_partition(thread_id), keys.inbox(mine.message_id), mine)
    _require_same(stored, mine)
    return stored


def _require_same(stored: AcceptedMessage, mine: AcceptedMessage) -> None:
    if stored.fingerprint != mine.fingerprint:
        raise InvalidRequest(
            "client_message_id_reused", "client_message_id: another message was sent under this id before."
        )
