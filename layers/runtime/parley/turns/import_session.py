"""Importing an older session: it becomes a thread of the user, which the agent goes on with.

The messages lie under their own keys before the aggregate does: a thread that can be seen is whole. The same
session of the same user and project is the same thread, however often it is imported; once it is there, nothing
of it is written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parley.domain import keys
from parley.domain.agents import Agent
from parley.domain.conversation import Conversation, Phase, Run, RunRecord, RunStatus
from parley.domain.errors import Conflict
from parley.domain.messages import Message, MessageKind
from parley.domain.summary import rolled
from parley.domain.values import Value
from parley.prompts.old_messages import thread_messages
from parley.turns import conversations, projects
from parley.turns.accept_message import TITLE_LIMIT
from parley.turns.closing import reply_ref
from parley.turns.imported import ImportedSession
from parley.turns.old_sessions import OldSession, read_session
from parley.turns.ports import ConditionFailed
from parley.turns.records import put
from parley.turns.runtime import Runtime

FIRST_RUN = 1
EVENTS_BEGIN_BEHIND = 1
"""The log of an imported thread begins later than a client expects: it is then told to read the messages."""
NO_TITLE = "Imported conversation"
_PAGE = 500


class SessionImported(Value):
    """Which thread a session became; ``imported`` is false if it had been one already."""

    thread_id: str
    title: str
    turns: int
    imported: bool


def import_session(
    runtime: Runtime, user_id: str, project_id: str, agent_id: str, data: Any
) -> SessionImported:
    """Raises InvalidRequest for what is no session, NotFound for a project or agent that is not the user's."""
    projects.require_member(runtime, user_id, project_id)
    agent = projects.read_agent(runtime, project_id, agent_id)
    session = read_session(data)
    thread_id = keys.imported_thread_id(user_id, project_id, session.session_id)
    known = conversations.find(runtime, thread_id)
    if known is not None:
        return _answer(known.value, imported=False)
    messages = thread_messages(thread_id, session.messages)
    conversation = _conversation(runtime, thread_id, user_id, project_id, agent, session, messages)
    _store(runtime, thread_id, session, messages, conversation)
    try:
        conversations.save(runtime, conversation, if_version=0)
    except ConditionFailed:  # the same session, imported twice at once
        return _answer(conversations.get(runtime, thread_id), imported=False)
    projects.note_use(runtime, project_id, user_id, agent_id)
    return _answer(conversation, imported=True)


def _answer(conversation: Conversation, *, imported: bool) -> SessionImported:
    return SessionImported(
        thread_id=conversation.thread_id,
        title=conversation.title,
        turns=conversation.turns,
        imported=imported,
    )


def _conversation(
    runtime: Runtime,
    thread_id: str,
    user_id: str,
    project_id: str,
    agent: Agent,
    session: OldSession,
    messages: Sequence[Message],
) -> Conversation:
    """The thread as if its first run had ended: the next message starts the second."""
    turns = max((message.turn for message in messages), default=0)
    if turns == 0:
        raise Conflict("empty_session", f"Session {session.session_id} has no message of a person.")
    created_at = session.created_at or runtime.clock.now()
    updated_at = max(session.updated_at, created_at)
    replies = [message.turn for message in messages if message.kind is MessageKind.ASSISTANT_MESSAGE]
    return Conversation(
        thread_id=thread_id,
        user_id=user_id,
        project_id=project_id,
        agent_id=agent.agent_id,
        title=(session.title or _first_words(messages) or NO_TITLE)[:TITLE_LIMIT],
        phase=Phase.WAITING_FOR_INPUT,
        run=_closed_run(agent, turns, created_at),
        turns=turns,
        on_message_while_pending=agent.on_message_while_pending,
        last_reply_ref=reply_ref(thread_id, replies[-1]) if replies and replies[-1] else None,
        summary=_summary(messages, turns),
        last_seq=EVENTS_BEGIN_BEHIND,
        own_prompt=bool(session.system_prompt),
        created_at=created_at,
        active_at=updated_at,
        updated_at=updated_at,
    )


def _closed_run(agent: Agent, turns: int, started_at: float) -> Run:
    return Run(
        generation=FIRST_RUN,
        status=RunStatus.CLOSED,
        turns=turns,
        turns_per_run=agent.turns_per_run,
        inactivity_seconds=agent.inactivity_seconds,
        started_at=started_at,
    )


def _first_words(messages: Sequence[Message]) -> str:
    return next((" ".join(message.content.split()) for message in messages if message.turn == 1), "")


def _summary(messages: Sequence[Message], turns: int) -> str:
    """What the turns would have left behind, had they been held here."""
    asked, replied = [""] * (turns + 1), [""] * (turns + 1)
    for message in messages:
        if message.kind is MessageKind.USER_MESSAGE and not message.internal:
            asked[message.turn] = message.content
        elif message.kind is MessageKind.ASSISTANT_MESSAGE:
            replied[message.turn] = message.content
    summary = ""
    for turn in range(1, turns + 1):
        summary = rolled(summary, asked[turn], replied[turn]) if replied[turn] else summary
    return summary


def _store(
    runtime: Runtime,
    thread_id: str,
    session: OldSession,
    messages: Sequence[Message],
    conversation: Conversation,
) -> None:
    """All but the aggregate."""
    partition = keys.thread_partition(thread_id)
    _sweep(runtime, thread_id)
    for message in messages:
        put(runtime, partition, _sort_key(thread_id, message), message, if_version=None)
    record = RunRecord(
        generation=FIRST_RUN,
        status="imported",
        turns=conversation.turns,
        attempts=0,
        started_at=conversation.created_at,
        stopped_at=conversation.updated_at,
    )
    put(runtime, partition, keys.run_record(FIRST_RUN), record, if_version=None)
    origin = ImportedSession(
        session_id=session.session_id,
        system_prompt=session.system_prompt,
        imported_at=runtime.clock.now(),
    )
    put(runtime, partition, keys.IMPORTED, origin, if_version=None)


def _sweep(runtime: Runtime, thread_id: str) -> None:
    """Delete what an import that was cut off left behind: its file may have changed since.

    Only what was there before the thread could be seen, so never what a turn of the thread wrote.
    """
    partition, after = keys.thread_partition(thread_id), None
    while left := runtime.store.query(partition, keys.messages(thread_id), after=after, limit=_PAGE):
        if conversations.find(runtime, thread_id) is not None:
            return
        for item in left:
            runtime.store.delete(item.partition, item.sort)
        after = left[-1].sort


def _sort_key(thread_id: str, message: Message) -> str:
    if message.kind is MessageKind.TOOL_RESPONSE:
        return keys.call_message(thread_id, message.turn, message.step, message.call, keys.RESPONSE)
    return keys.message(thread_id, message.turn, message.step)
