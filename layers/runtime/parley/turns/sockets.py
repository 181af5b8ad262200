"""WebSocket connections: tickets, subscriptions, replay. Bad input is answered, never a dropped connection."""

from __future__ import annotations

import json
import secrets
from typing import Any

from pydantic import Field, ValidationError

from parley.domain import keys
from parley.domain.errors import InvalidRequest, NotFound, Refusal
from parley.domain.events import channel_of
from parley.domain.faults import faults_in
from parley.domain.json_text import read_request
from parley.domain.values import Value
from parley.turns import conversations, projects
from parley.turns.ports import ConditionFailed, ConnectionGone
from parley.turns.publish import SUBSCRIBER_LIMIT, frame_of, subscribers_of
from parley.turns.read_events import events_after
from parley.turns.records import load, put
from parley.turns.runtime import Runtime

TICKET_SECONDS = 60
CONNECTION_SECONDS = 3 * 3600
"""API Gateway ends a connection after two hours."""
CHANNELS_PER_CONNECTION = 20
REPLAY_PAGE = 200
REPLAY_LIMIT = 2000
REPLAY_CHARACTERS = 2_000_000
"""A replay ends where either is reached: what a connection has to take at once is bounded."""


class Ticket(Value):
    """Whose a socket ticket is, and until when (epoch seconds)."""

    user_id: str
    expires_at: float


class Connection(Value):
    """An open connection and what it listens to."""

    user_id: str
    channels: tuple[str, ...] = ()


class SocketMessage(Value):
    """What a client may send."""

    action: str
    channel: str | None = Field(default=None, max_length=400)
    thread_id: str | None = Field(default=None, max_length=100)
    after: int = Field(default=0, ge=0, le=10**11, strict=True)


def issue_ticket(runtime: Runtime, user_id: str) -> str:
    """A one-use ticket for a connection, valid for 60 s; only its hash is stored."""
    ticket = secrets.token_urlsafe(24)
    until = runtime.clock.now() + TICKET_SECONDS
    record = Ticket(user_id=user_id, expires_at=until)
    put(runtime, keys.ticket_partition(ticket), keys.TICKET, record, if_version=0, expires_at=int(until) + 1)
    return ticket


def ticket_answer(runtime: Runtime, user_id: str) -> dict[str, str]:
    """A new ticket, and with it the address to take it to, unless that is ``/ws`` beside the API."""
    ticket = issue_ticket(runtime, user_id)
    url = runtime.settings.socket_url
    return {"ticket": ticket, "url": url} if url else {"ticket": ticket}


def redeem_ticket(runtime: Runtime, ticket: str) -> str | None:
    """The ticket's user, once; None for an unknown, used or late one."""
    partition = keys.ticket_partition(ticket)
    found = load(runtime, partition, keys.TICKET, Ticket)
    if found is None or found.value.expires_at <= runtime.clock.now():
        return None
    try:
        runtime.store.delete(partition, keys.TICKET, if_version=found.version)
    except ConditionFailed:
        return None
    return found.value.user_id


def connect(runtime: Runtime, connection_id: str, user_id: str) -> None:
    _save(runtime, connection_id, Connection(user_id=user_id))


def disconnect(runtime: Runtime, connection_id: str) -> None:
    """Forget a connection and its subscriptions."""
    found = load(runtime, keys.connection_partition(connection_id), keys.CONNECTION, Connection)
    if found is None:
        return
    for channel in found.value.channels:
        runtime.store.delete(keys.channel_partition(channel), _subscriber(connection_id))
    runtime.store.delete(keys.connection_partition(connection_id), keys.CONNECTION)


def receive(runtime: Runtime, connection_id: str, body: str) -> None:
    """Answer a client's message on its own connection."""
    try:
        message = _parse(body)
        _answer(runtime, connection_id, message)
    except Refusal as refusal:
        data = {"type": refusal.type, "message": refusal.message, **refusal.details}
        _send(runtime, connection_id, {"event": "Error", "data": data})
    except ConnectionGone:  # in the middle of a replay
        disconnect(runtime, connection_id)


def _parse(body: str) -> SocketMessage:
    try:
        message = read_request(body)
        if not isinstance(message, dict):
            raise InvalidRequest("invalid_message", "A message must be a JSON object with an action.")
        return SocketMessage.model_validate(message)
    except ValidationError as invalid:
        words = faults_in(invalid.errors(include_url=False), message, {})
        raise InvalidRequest("invalid_message", f"{words}.") from invalid
    except json.JSONDecodeError as broken:
        raise InvalidRequest("invalid_message", f"A message must be JSON: {broken.msg}.") from broken


def _answer(runtime: Runtime, connection_id: str, message: SocketMessage) -> None:
    found = load(runtime, keys.connection_partition(connection_id), keys.CONNECTION, Connection)
    if found is None:
        raise NotFound("unknown_connection", "This connection is not known any more; connect again.")
    connection = found.value
    match message.action:
        case "ping":
            _send(runtime, connection_id, {"event": "Pong"})
        case "subscribe":
            _subscribe(runtime, connection_id, connection, message.channel or "")
        case "resume":
            _resume(runtime, connection_id, connection, message)
        case other:
            raise InvalidRequest(
                "unknown_action", f"action: {other[:40]!r} is not one of subscribe, resume, ping."
            )


def _subscribe(runtime: Runtime, connection_id: str, connection: Connection, channel: str) -> None:
    """Only the user's own channel in a project of theirs."""
    project_id = channel.removeprefix(channel_of(connection.user_id, ""))
    if channel_of(connection.user_id, project_id) != channel or not project_id:
        raise NotFound("not_found", "There is no such channel.")
    projects.require_member(runtime, connection.user_id, project_id)
    if channel not in connection.channels:
        if len(connection.channels) >= CHANNELS_PER_CONNECTION:
            raise InvalidRequest(
                "too_many_channels", f"A connection has at most {CHANNELS_PER_CONNECTION} channels."
            )
        if len(subscribers_of(runtime, channel)) >= SUBSCRIBER_LIMIT:
            raise InvalidRequest(
                "too_many_subscribers", f"{SUBSCRIBER_LIMIT} connections listen to this channel already."
            )
        _save(runtime, connection_id, connection.but(channels=(*connection.channels, channel)))
    put(
        runtime,
        keys.channel_partition(channel),
        _subscriber(connection_id),
        Value(),
        if_version=None,
        expires_at=_until(runtime),
    )
    _send(runtime, connection_id, {"event": "Subscribed", "channel": channel})


def _resume(runtime: Runtime, connection_id: str, connection: Connection, message: SocketMessage) -> None:
    """Replay the log of a thread of the user's, a bounded number of events at a time.

    ``Resumed`` ends it: ``after`` is the last ``seq`` that was sent, and with ``more`` the client resumes there.
    """
    stored = conversations.find(runtime, message.thread_id or "")
    if stored is None or stored.value.user_id != connection.user_id:
        raise NotFound("not_found", "There is no such thread.")
    projects.require_member(runtime, connection.user_id, stored.value.project_id)
    after, sent, size = message.after, 0, 0
    events = events_after(runtime, stored.value, after, REPLAY_PAGE)
    while events and sent < REPLAY_LIMIT and size < REPLAY_CHARACTERS:
        for event in events:
            frame = frame_of(event, runtime.settings.frame_limit)
            runtime.pusher.post(connection_id, frame)
            size += len(frame)
        sent += len(events)
        after = events[-1].seq
        events = events_after(runtime, stored.value, after, REPLAY_PAGE)
    data = {"thread_id": message.thread_id, "after": after, "more": bool(events)}
    runtime.pusher.post(connection_id, json.dumps({"event": "Resumed", "data": data}))


def _send(runtime: Runtime, connection_id: str, frame: dict[str, Any]) -> None:
    try:
        runtime.pusher.post(connection_id, json.dumps(frame))
    except ConnectionGone:
        disconnect(runtime, connection_id)


def _save(runtime: Runtime, connection_id: str, connection: Connection) -> None:
    put(
        runtime,
        keys.connection_partition(connection_id),
        keys.CONNECTION,
        connection,
        if_version=None,
        expires_at=_until(runtime),
    )


def _subscriber(connection_id: str) -> str:
    return f"{keys.CONNECTION}#{connection_id}"


def _until(runtime: Runtime) -> int:
    return int(runtime.clock.now()) + CONNECTION_SECONDS
