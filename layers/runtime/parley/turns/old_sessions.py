"""Sessions as older programs of this kind saved them: JSON in, what is worth keeping out.

Owns the form that is accepted::

    {"id", "messages": [{"role", "content", "timestamp"?, "metadata"?}], "systemPrompt"?, "title"?,
     "createdAt"?, "updatedAt"?}

with names in camelCase or snake_case, times as epoch milliseconds, epoch seconds or ISO 8601. ``metadata`` may
say ``isToolResponse``, ``internal`` and ``provider``; without it the text of a message has to tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from parley.domain.errors import InvalidRequest
from parley.prompts.old_messages import PlainMessage

_MILLISECONDS_FROM = 1e11
"""Larger numbers are no seconds of this millennium."""
_LATEST = 1e15
SESSION_MESSAGES = 20_000
_RESULT_ROLES = ("tool", "function")


@dataclass(frozen=True, slots=True)
class OldSession:
    """A session as it was read. Times are epoch seconds; 0.0 where the session says nothing."""

    session_id: str
    messages: tuple[PlainMessage, ...]
    system_prompt: str = ""
    title: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0


def sessions_in(document: Any) -> list[Any]:
    """The sessions of a file, not read yet: one, a list, or an object that has a list of ``sessions``."""
    if isinstance(document, Mapping) and isinstance(document.get("sessions"), list):
        return list(document["sessions"])
    return list(document) if isinstance(document, list) else [document]


def read_session(data: Any) -> OldSession:
    """Raises InvalidRequest, naming the field."""
    if not isinstance(data, Mapping):
        raise _refused("a session must be an object")
    session_id = data.get("id")
    if isinstance(session_id, int):
        session_id = str(session_id)
    if not isinstance(session_id, str) or not session_id.strip():
        raise _refused("id: must be a text")
    entries = data.get("messages")
    if not isinstance(entries, list) or len(entries) > SESSION_MESSAGES:
        raise _refused(f"messages: must be a list of at most {SESSION_MESSAGES:,}")
    created_at = _time(_get(data, "createdAt", "created_at"), "createdAt")
    instructions = [_text(_get(data, "systemPrompt", "system_prompt"), "systemPrompt")]
    messages: list[PlainMessage] = []
    at = created_at
    for place, entry in enumerate(entries):
        found = _message(entry, f"messages[{place}]", at)
        if isinstance(found, str):
            instructions.append(found)
            continue
        at = max(at, found.timestamp)
        messages.append(found)
    return OldSession(
        session_id=session_id,
        messages=tuple(messages),
        system_prompt="\n\n".join(dict.fromkeys(text.strip() for text in instructions if text.strip())),
        title=" ".join(_text(_get(data, "title", "name"), "title").split()),
        created_at=created_at or next(_times(messages), 0.0),
        updated_at=max(_time(_get(data, "updatedAt", "updated_at"), "updatedAt"), at),
    )


def _times(messages: list[PlainMessage]) -> Iterator[float]:
    return (message.timestamp for message in messages if message.timestamp)


def _message(entry: Any, where: str, before: float) -> PlainMessage | str:
    """A message, or the text of an instruction. One without a time has that of the message before it."""
    if not isinstance(entry, Mapping):
        raise _refused(f"{where}: must be an object")
    role = entry.get("role")
    content = _text(entry.get("content"), f"{where}.content")
    metadata = entry.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    timestamp = _time(entry.get("timestamp"), f"{where}.timestamp") or before
    if role == "system":
        return content
    if role in _RESULT_ROLES:
        return PlainMessage("user", content, timestamp, is_result=True)
    if role not in ("user", "assistant"):
        raise _refused(f"{where}.role: must be user, assistant or system")
    is_result = bool(_get(metadata, "isToolResponse", "is_tool_response") or metadata.get("internal"))
    provider = metadata.get("provider")
    return PlainMessage(
        role,
        content,
        timestamp,
        is_result=is_result and role == "user",
        provider=provider.lower() if isinstance(provider, str) and role == "assistant" else None,
    )


def _get(data: Mapping[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)


def _text(value: Any, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _refused(f"{where}: must be a text")
    # Half a surrogate pair is no text that a store could keep.
    return value.encode("utf-8", "replace").decode()


def _time(value: Any, where: str) -> float:
    if value is None:
        return 0.0
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise _refused(f"{where}: must be a time") from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LATEST:
        raise _refused(f"{where}: must be a time")
    return value / 1000 if value >= _MILLISECONDS_FROM else float(value)


def _refused(message: str) -> InvalidRequest:
    return InvalidRequest("invalid_session", message)
