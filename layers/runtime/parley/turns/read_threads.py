"""Reading threads: lists, status, messages, replies."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from parley.domain import keys
from parley.domain.conversation import Conversation
from parley.domain.errors import InvalidRequest
from parley.domain.messages import Message, MessageKind
from parley.domain.proposals import Proposal
from parley.turns import projects
from parley.turns.accepted import read_accepted
from parley.turns.calls import read_proposal
from parley.turns.records import load, parse
from parley.turns.runtime import Runtime
from parley.turns.task import Subthread

PAGE_LIMIT = 100


def encode_cursor(sort: str) -> str:
    """An opaque cursor: where a page ended."""
    return base64.urlsafe_b64encode(sort.encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None, prefix: str) -> str | None:
    """Raises InvalidRequest for what no page ended with."""
    if not cursor:
        return None
    try:
        sort = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (ValueError, binascii.Error):
        sort = ""
    if encode_cursor(sort) != cursor.rstrip("=") or not sort.startswith(prefix):
        raise InvalidRequest("invalid_request", "cursor: use the value that the last page gave as next.")
    return sort


def _thread_cursor(cursor: str | None) -> str | None:
    """An instant and a thread, as the index has them."""
    sort = decode_cursor(cursor, "")
    if sort is not None and not re.fullmatch("[0-9]{15}#[0-9a-f-]{36}", sort):
        raise InvalidRequest("invalid_request", "cursor: use the value that the last page gave as next.")
    return sort


def list_threads(
    runtime: Runtime, user_id: str, project_id: str, limit: int, cursor: str | None
) -> dict[str, Any]:
    """The user's threads, newest first."""
    projects.require_member(runtime, user_id, project_id)
    items = runtime.store.query_index(
        "listed",
        keys.listed_threads(user_id, project_id),
        after=_thread_cursor(cursor),
        limit=limit,
        descending=True,
    )
    threads = [_listed(Conversation.model_validate_json(item.body)) for item in items]
    last = items[-1].listed if len(items) == limit else None
    return {"threads": threads, "next": encode_cursor(last.sort) if last else None}


def _listed(conversation: Conversation) -> dict[str, Any]:
    return {
        "thread_id": conversation.thread_id,
        "agent_id": conversation.agent_id,
        "title": conversation.title,
        "phase": conversation.phase.value,
        "turns": conversation.turns,
        "created_at": conversation.created_at,
        "updated_at": conversation.updated_at,
    }


def thread_status(runtime: Runtime, user_id: str, project_id: str, thread_id: str) -> dict[str, Any]:
    """A thread as it stands."""
    conversation = projects.require_thread(runtime, user_id, project_id, thread_id).value
    run = conversation.run
    claimed = (run.message_id,) if run.message_id is not None and conversation.turn is None else ()
    waiting = (*claimed, *conversation.inbox)
    return {
        **_listed(conversation),
        "generation": run.generation,
        "queued": len(waiting),
        "queue": _queued(runtime, thread_id, waiting),
        "pending": _pending(runtime, conversation),
        "last_reply_ref": conversation.last_reply_ref,
        "last_seq": conversation.last_seq,
        "summary": conversation.summary,
    }


def _queued(runtime: Runtime, thread_id: str, message_ids: tuple[str, ...]) -> list[dict[str, Any]]:
    """Messages that wait for their turn, in its order. One whose turn has begun meanwhile is left out."""
    found = [read_accepted(runtime, thread_id, message_id) for message_id in message_ids]
    return [
        {
            "message_id": accepted.message_id,
            "client_message_id": accepted.client_message_id,
            "content": accepted.content,
            "predefined_message": accepted.predefined_message,
            "accepted_at": accepted.accepted_at,
        }
        for accepted in found
        if not accepted.applied
    ]


def _pending(runtime: Runtime, conversation: Conversation) -> list[dict[str, Any]]:
    undecided = [entry for entry in conversation.proposals if entry.outcome is None]
    found = [read_proposal(runtime, entry.proposal_id) for entry in undecided]
    return [shown_proposal(stored.value) for stored in found if stored is not None]


def shown_proposal(proposal: Proposal) -> dict[str, Any]:
    """A pending proposal as it is answered."""
    return {
        "proposal_id": proposal.proposal_id,
        "name": proposal.name,
        "arguments": proposal.arguments,
        "question": proposal.question,
        "expires_at": proposal.expires_at,
        "thread_id": proposal.thread_id,
    }


def list_messages(
    runtime: Runtime,
    user_id: str,
    project_id: str,
    thread_id: str,
    limit: int,
    cursor: str | None,
    subthread_id: str | None,
    newest_first: bool = False,
) -> dict[str, Any]:
    """The messages that a person sees, oldest first unless asked otherwise; of a subthread if one is named."""
    projects.require_thread(runtime, user_id, project_id, thread_id)
    partition = keys.thread_partition(thread_id)
    if subthread_id and load(runtime, partition, keys.subthread(subthread_id), Subthread) is None:
        raise projects.not_found("subthread")
    prefix = keys.messages(subthread_id or thread_id)
    after = decode_cursor(cursor, prefix)
    items = runtime.store.query(partition, prefix, after=after, limit=limit, descending=newest_first)
    messages = [parse(runtime, item, Message).value for item in items]
    shown = [shown_message(message) for message in messages if not message.internal]
    return {"messages": shown, "next": encode_cursor(items[-1].sort) if len(items) == limit else None}


def shown_message(message: Message) -> dict[str, Any]:
    """A message as it is answered: what a provider wants back unchanged stays inside."""
    shown = message.model_dump(mode="json", exclude={"metadata", "tool_calls"})
    shown["metadata"] = {key: value for key, value in message.metadata.items() if key != "provider_data"}
    if message.kind is MessageKind.ASSISTANT_TOOL_CALL:
        shown["tool_calls"] = [
            {"tool_call_id": call.tool_call_id, "name": call.name, "arguments": call.arguments}
            for call in message.tool_calls
        ]
    return shown


def read_reply(runtime: Runtime, user_id: str, project_id: str, thread_id: str, turn: int) -> dict[str, Any]:
    """The reply behind a reference."""
    projects.require_thread(runtime, user_id, project_id, thread_id)
    items = runtime.store.query(
        keys.thread_partition(thread_id), keys.messages(thread_id, turn), limit=PAGE_LIMIT, descending=True
    )
    for item in items:
        message = parse(runtime, item, Message).value
        if message.kind is MessageKind.ASSISTANT_MESSAGE:
            content, reason = message.content, message.finish_reason
            return {"thread_id": thread_id, "turn": turn, "content": content, "finish_reason": reason}
    raise projects.not_found("reply")
