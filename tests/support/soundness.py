"""What holds of every thread at rest, whatever happened in it; and the short form of its events."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from parley.domain import keys
from parley.prompts.prompt import Prompt
from parley.turns.records import parse
from tests.support.systems import System

FIELDS = {
    "UserMessage": {"message_id", "client_message_id", "content"},
    "ThreadStart": {"message_id", "resumed"},
    "StreamMessageChunk": {"message_id", "attempt", "offset", "text"},
    "FunctionGenerationStart": {"message_id", "tool_call_id", "name"},
    "FunctionArgumentsChunk": {"message_id", "tool_call_id", "text"},
    "ToolCall": {"tool_call_id", "name", "arguments"},
    "ToolResponse": {"tool_call_id", "name", "content", "ok", "additional_data"},
    "MessageEnd": {"message_id", "content", "finish_reason", "usage"},
    "ThreadEnd": {"turn", "reply_ref"},
    "ProposeActions": {"actions"},
    "AgentSubthreadStart": {"tool_call_id", "subthread_id", "agent_id"},
    "SubthreadUserMessage": {"message_id", "content"},
    "ActionRequiresConfirmation": {
        "proposal_id",
        "tool_call_id",
        "name",
        "arguments",
        "question",
        "expires_at",
    },
    "ActionConfirmed": {"proposal_id", "reviewer", "arguments"},
    "ActionRejected": {"proposal_id", "reason", "automaticRejection"},
    "MessageReset": {"message_id", "attempt"},
    "TurnFailed": {"type", "message", "retryable"},
    "TurnCancelled": {"turn"},
    "RunContinued": {"generation"},
    "RunEnded": {"generation", "reason"},
    "ConversationCompleted": {"reason"},
}
ENVELOPE = {"event", "channel", "thread_id", "subthread_id", "parent_thread_id", "seq", "turn", "at", "data"}
_MODEL_SEES = {"USER_MESSAGE", "ASSISTANT_MESSAGE", "ASSISTANT_TOOL_CALL", "TOOL_RESPONSE"}


def story(events: Sequence[dict[str, Any]]) -> list[str]:
    """The events' names: chunks in a row as one, ``sub:`` before a subthread's, resuming ThreadStarts marked."""
    names: list[str] = []
    for event in events:
        name = event["event"]
        if name == "ThreadStart" and event["data"]["resumed"]:
            name = "ThreadStart (resumed)"
        if event["subthread_id"]:
            name = f"sub:{name}"
        if name.removeprefix("sub:") in ("StreamMessageChunk", "FunctionArgumentsChunk"):
            name = f"{name}…"
            if names and names[-1] == name:
                continue
        names.append(name)
    return names


PLAIN = ["UserMessage", "ThreadStart", "StreamMessageChunk…", "MessageEnd", "ThreadEnd"]
"""A turn without calls."""
CALL = ["FunctionGenerationStart", "FunctionArgumentsChunk…", "ToolCall"]
"""One call until it is answered."""
REPLY = PLAIN[2:]


def named(events: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The data of the events of one name."""
    return [event["data"] for event in events if event["event"] == name]


def prompts(system: System, thread: str, of: str | None = None) -> list[Prompt]:
    """The prompts that were sent: of the whole tree, or of one thread (``of``) in their order."""
    prefix = "PROMPT#" if of is None else keys.prompt(of, 0, 0).removesuffix("00000000#0000")
    return [parse(system.runtime, item, Prompt).value for item in system.items(thread, prefix)]


def told(system: System, thread: str) -> list[tuple[str, bool]]:
    """The tool results in the root's last prompt, behind the last user message: content and ok."""
    messages = prompts(system, thread, thread)[-1].messages
    start = max(place for place, message in enumerate(messages) if message.role == "user")
    return [(message.content, message.ok) for message in messages[start:] if message.role == "tool"]


def assert_sound(system: System, thread: str, *, phase: str = "waiting_for_input") -> list[dict[str, Any]]:
    """Check a thread at rest; its events."""
    events = system.events(thread)
    _assert_log(system, thread, events)
    _assert_streams(events)
    _assert_calls_answered_once(events)
    subthreads = {event["subthread_id"] for event in events if event["subthread_id"]}
    for subthread in (None, *subthreads):
        _assert_history(system.messages(thread, subthread))
    _assert_prompts(system, thread)
    status = system.status(thread)
    assert status["pending"] == []
    assert status["phase"] == phase
    assert status["queued"] == 0
    waiting = system.get(system.of_project("/confirmations"))["confirmations"]
    assert [entry for entry in waiting if entry["root_thread_id"] == thread] == []
    aggregate = system.aggregate(thread)
    assert aggregate.proposals == ()
    assert aggregate.turn is None
    assert not aggregate.cancelled
    _assert_no_token_leaked(system)
    return events


def _assert_log(system: System, thread: str, events: Sequence[dict[str, Any]]) -> None:
    """Seq 1, 2, 3, …; the public envelope and fields; the same log in pages of any size."""
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    for event in events:
        assert set(event) == ENVELOPE, event
        assert event["thread_id"] == thread
        assert event["channel"] == f"App.Chat.dev.{system.project}"
        by_a_person = event["data"].get("automaticRejection") is False
        assert set(event["data"]) == FIELDS[event["event"]] | ({"reviewer"} if by_a_person else set()), event
    if system.backend == "embedded":  # what pages hold is the same on both; moto is slow
        assert system.events(thread, page=7) == events


def _assert_streams(events: Sequence[dict[str, Any]]) -> None:
    """A client that joins the chunks has, at each end, the very text and arguments of the end."""
    texts: dict[str, str] = defaultdict(str)
    arguments: dict[str, str] = defaultdict(str)
    ended: list[str] = []
    for event in events:
        data = event["data"]
        match event["event"]:
            case "MessageReset":
                texts[data["message_id"]] = ""
                arguments.clear()
            case "StreamMessageChunk":
                assert data["offset"] == len(texts[data["message_id"]])
                texts[data["message_id"]] += data["text"]
            case "FunctionArgumentsChunk":
                arguments[data["tool_call_id"]] += data["text"]
            case "MessageEnd":
                assert texts[data["message_id"]] == data["content"]
                ended.append(data["message_id"])
            case "ToolCall" if data["arguments"]:
                assert json.loads(arguments[data["tool_call_id"]]) == data["arguments"]
    assert len(ended) == len(set(ended))


def _assert_calls_answered_once(events: Sequence[dict[str, Any]]) -> None:
    called = [data["tool_call_id"] for data in named(events, "ToolCall")]
    answered = [data["tool_call_id"] for data in named(events, "ToolResponse")]
    assert len(called) == len(set(called))
    assert sorted(called) == sorted(answered)


def _assert_history(messages: Sequence[dict[str, Any]]) -> None:
    """Behind a reply with calls stand their responses, one each, in their order, and then something else."""
    seen = [message for message in messages if message["kind"] in _MODEL_SEES]
    for place, message in enumerate(seen):
        if message["kind"] != "ASSISTANT_TOOL_CALL":
            continue
        calls = [call["tool_call_id"] for call in message["tool_calls"]]
        behind = seen[place + 1 : place + 1 + len(calls)]
        assert [each["metadata"].get("tool_call_id") for each in behind] == calls, messages
        assert all(each["kind"] == "TOOL_RESPONSE" for each in behind)
        assert all(each["content"] for each in behind)
    responses = [each for each in seen if each["kind"] == "TOOL_RESPONSE"]
    assert len(responses) == sum(len(each.get("tool_calls") or ()) for each in seen)
    assert not any(message["metadata"].get("internal") for message in messages)


def _assert_prompts(system: System, thread: str) -> None:
    """Every prompt that was sent: each call has exactly one response, right behind."""
    for prompt in prompts(system, thread):
        messages = list(prompt.messages)
        assert messages[0].role == "user"
        while messages:
            message = messages.pop(0)
            assert message.role != "tool", prompt
            for call in message.tool_calls:
                response = messages.pop(0)
                assert (response.role, response.tool_call_id) == ("tool", call.tool_call_id), prompt
                assert response.content


def _assert_no_token_leaked(system: System) -> None:
    texts = [*system.answers, *(frame for _, frame in system.runtime.pusher.frames)]  # type: ignore[attr-defined]
    for token in system.orchestrator.tokens:
        assert not any(token in text for text in texts)
