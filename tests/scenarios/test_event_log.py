"""The event log as clients meet it: cut off anywhere, too slow, too late, and values of any size."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from parley.domain import keys
from parley.tools.function import agent_function
from parley.turns import sockets
from parley.turns.runtime import DAY
from tests.support.large import LargeModel, text_of
from tests.support.models import OneProvider
from tests.support.soundness import assert_sound
from tests.support.systems import Note, System

REPLY = "It is done, as you wished."


def busy_thread(system: System) -> str:
    """Three turns: a call, a retry of a stream that broke, and a subagent's call that a person approves."""
    noting = agent_function(Note, requires_user_confirmation=True)
    call = {"when": "task", "tool_calls": [{"name": "note", "arguments": {"text": "milk"}}]}
    system.agent("helper", functions=[noting], script=[call, {"when": "task", "text": "Noted it."}])
    breaks = {"type": "StreamCut", "after": 3, "times": 1}
    subagent = {
        "name": "hand_over",
        "parameters": {"type": "object", "properties": {"user_request": {"type": "string"}}},
        "implementation": {
            "kind": "subagent",
            "subagent_id": "helper",
            "subagent_user_message": "task {user_request}",
        },
    }
    script = [
        {"when": "note", "tool_calls": [{"name": "note", "arguments": {"text": "bread"}}]},
        {"when": "note", "text": REPLY},
        {"when": "break", "text": REPLY, "error": breaks},
        {"when": "hand over", "tool_calls": [{"name": "hand_over", "arguments": {"user_request": "milk"}}]},
        {"when": "hand over", "text": REPLY},
    ]
    agent = system.agent(
        functions=[agent_function(Note, requires_user_confirmation=False), subagent], script=script
    )
    system.change_settings(chunk_seconds=0.0)
    thread = system.start("note", agent)
    system.rest(thread, turns=1)
    system.say(thread, "break")
    system.rest(thread, turns=2, moving=1.0)
    system.say(thread, "hand over")
    [proposal] = system.pending(thread)
    system.decide(proposal, True)
    system.rest(thread, turns=3)
    return thread


def shown(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What a page has after these events: texts, arguments, questions, calls and their answers, what is over."""
    state: dict[str, Any] = {
        "texts": defaultdict(str),
        "arguments": defaultdict(str),
        "calls": {},
        "questions": {},
    }
    for event in events:
        data, name = event["data"], event["event"]
        match name:
            case "StreamMessageChunk":
                state["texts"][data["message_id"]] += data["text"]
            case "MessageReset":
                state["texts"].pop(data["message_id"], None)
            case "MessageEnd":
                state["texts"][data["message_id"]] = data["content"]
            case "FunctionArgumentsChunk":
                state["arguments"][data["tool_call_id"]] += data["text"]
            case "ToolCall":
                state["calls"][data["tool_call_id"]] = None
            case "ToolResponse":
                state["calls"][data["tool_call_id"]] = data["content"]
            case "ActionRequiresConfirmation" | "ActionConfirmed" | "ActionRejected":
                state["questions"][data["proposal_id"]] = name
            case "ThreadStart" | "ThreadEnd":
                state["over"] = name
            case _:
                pass
    return state


def resumed(system: System, connection: str, thread: str, after: int) -> list[dict[str, Any]]:
    """What a connection is sent that resumes there."""
    before = len(system.frames)
    sockets.receive(
        system.runtime, connection, json.dumps({"action": "resume", "thread_id": thread, "after": after})
    )
    *frames, end = system.frames[before:]
    assert end["event"] == "Resumed", end
    assert end["data"]["more"] is False
    return frames


def test_a_client_that_was_cut_off_anywhere_ends_with_what_one_that_stayed_has(system: System) -> None:
    thread = busy_thread(system)
    events = assert_sound(system, thread)
    names = {event["event"] for event in events}
    assert names >= {"MessageReset", "AgentSubthreadStart", "ActionConfirmed", "FunctionArgumentsChunk"}
    system.listen("c-late")
    whole = shown(events)
    for cut in range(0, len(events) + 1, 1 if system.backend == "embedded" else 8):  # moto is slow
        rest = resumed(system, "c-late", thread, cut)
        assert rest == events[cut:], cut
        assert shown([*events[:cut], *rest]) == whole, cut
        assert (
            system.get(system.of_thread(thread, "/events"), after=cut, limit=1000)["events"] == events[cut:]
        )


def test_events_whose_time_is_over_are_deleted_and_the_log_goes_on_behind_them(embedded: System) -> None:
    system = embedded
    size = 3 * system.runtime.settings.inline_limit
    system.change_runtime(providers=OneProvider(LargeModel()))
    agent = system.agent(provider="large", model="any")
    thread = system.start(f"say {size}", agent)
    system.rest(thread, turns=1)
    old = system.events(thread)
    blobs = {info.key for info in system.runtime.blobs.list_keys("")}
    system.clock.advance(system.runtime.settings.event_retention_seconds + DAY)
    system.wait_until(
        lambda: any("RunEnded" in item.body for item in system.items(thread, keys.EVENTS)),
        "the idle run ends",
    )
    system.clock.advance(system.runtime.settings.event_retention_seconds + DAY)
    assert system.store.purge_expired(system.runtime.blobs.delete, at_once=3) > 3
    assert system.items(thread, keys.EVENTS) == []
    assert system.items(thread, "PROMPT#") == []
    kept = {info.key for info in system.runtime.blobs.list_keys("")}
    assert {key.split("/")[0] for key in blobs - kept} == {"expiring"}
    assert not any(key.startswith("expiring/") for key in kept)
    assert [message["content"] for message in system.messages(thread)] == [f"say {size}", text_of(size)]
    ended = system.request("GET", system.of_thread(thread, "/events"), query={"after": 0})
    assert (ended.status, ended.error) == (410, "events_expired")
    system.say(thread, "and now?")
    system.rest(thread, turns=2)
    oldest = ended.body["error"]["oldest"]
    fresh = system.get(system.of_thread(thread, "/events"), after=oldest - 1, limit=1000)["events"]
    assert oldest > old[-1]["seq"]
    assert [event["seq"] for event in fresh] == list(range(oldest, oldest + len(fresh)))
    assert fresh[-1]["event"] == "ThreadEnd"
    system.listen("c-late")
    sockets.receive(
        system.runtime, "c-late", json.dumps({"action": "resume", "thread_id": thread, "after": 0})
    )
    assert system.frames[-1]["data"]["type"] == "events_expired"
    assert system.frames[-1]["data"]["oldest"] == oldest


def test_events_that_expire_while_an_action_waits_leave_their_numbers_to_nobody_else(
    embedded: System,
) -> None:
    system = embedded
    system.change_settings(event_retention_seconds=DAY)
    noting = agent_function(Note, requires_user_confirmation=True)
    call = {"when": "task", "tool_calls": [{"name": "note", "arguments": {"text": "milk"}}]}
    asks = {"functions": [noting], "confirmation_seconds": 30 * int(DAY)}
    system.agent("helper", **asks, script=[call, {"when": "task", "text": REPLY}])
    subagent = {
        "name": "hand_over",
        "parameters": {"type": "object", "properties": {}},
        "implementation": {"kind": "subagent", "subagent_id": "helper", "subagent_user_message": "task"},
    }
    both = [{"name": "note", "arguments": {"text": "bread"}}, {"name": "hand_over", "arguments": {}}]
    script = [{"when": "note", "tool_calls": both}, {"when": "note", "text": REPLY}]
    agent = system.agent(functions=[noting, subagent], confirmation_seconds=30 * int(DAY), script=script)
    thread = system.start("note", agent)
    proposals = system.pending(thread, 2)
    shown_before = system.events(thread)
    for left, proposal in ((1, proposals[1]), (0, proposals[0])):
        system.clock.advance(10 * DAY)
        system.listen(f"c-{left}")
        assert system.decide(proposal, True)["outcome"] == "applied"
        if left:  # the subagent's; its answer goes to the agent above
            system.wait_until(lambda: named_of(system.frames).count("ToolResponse") == 2, "it goes on")
    system.rest(thread, turns=1)
    # Whoever listens from now on may still be sent what was stored just before.
    fresh = [frame for frame in system.frames if frame.get("seq", 0) > len(shown_before)]
    pushed = {frame["seq"]: frame for frame in fresh}
    assert len(pushed) == len(fresh)
    seqs = [event["seq"] for event in shown_before] + sorted(pushed)
    assert seqs == list(range(1, len(seqs) + 1))
    names = named_of(system.frames)
    assert (names.count("ActionConfirmed"), names.count("ThreadEnd")) == (2, 1)


def named_of(frames: Sequence[dict[str, Any]]) -> list[str]:
    """The names of frames."""
    return [frame["event"] for frame in frames]
