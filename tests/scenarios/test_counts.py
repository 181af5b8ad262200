"""What a turn costs: states, reads, writes, frames. Exact numbers, so that a regression shows.

Each reply of these models is one piece of text, so that how fast the machine is changes nothing. A change that
makes a turn cheaper changes the numbers here; one that makes it dearer has to say why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from parley.tools.function import agent_function
from parley.turns import accept_message
from parley.turns.accept_message import NewMessage
from tests.support.soundness import named
from tests.support.systems import Note, System

ONE_PIECE = {"when": "say", "chunks": ["Said."]}
NOTED = [
    {"when": "note", "tool_calls": [{"name": "note", "arguments": '{"text":"milk"}'}]},
    {"when": "note", "chunks": ["Noted."]},
]
PLAIN_STATES = ["ReceiveMessage", "BuildPrompt", "PromptReady", "InvokeModel", "ModelReplied", "RecordReply"]
MIDDLE, LAST = 99, 199
"""Turns that are measured; no multiples of ``turns_per_run``, for a hand-over costs extra."""
PLAIN_COST = {"store.get": 12, "store.query": 4, "store.items": 3, "store.put": 13, "orchestrator.wake": 1}
CALL_COST = {"store.get": 25, "store.query": 10, "store.items": 8, "store.put": 23, "orchestrator.wake": 1}
"""``store.items``: those that the queries found. One put fails: the second model call looks for the end of the log
where the first had left it, and meets what the function wrote."""


def talker(system: System) -> str:
    system.change_settings(fence_seconds=60.0)  # a slow machine does not look more often
    return system.agent(
        functions=[agent_function(Note)], script=[ONE_PIECE, *NOTED], turns_per_run=50, history_window=10
    )


def say(system: System, thread: str, text: str) -> None:
    """A turn without HTTP."""
    turns = system.aggregate(thread).turns
    accept_message.continue_thread(system.runtime, "dev", system.project, thread, NewMessage(message=text))
    system.come_to_rest(thread, turns=turns + 1)


def states(system: System, thread: str) -> list[str]:
    """All states that the thread's first run entered, nested ones included."""
    return [visit.name for visit in system.orchestrator.history(f"{thread}-1-1")]


def cost(system: System, thread: str, text: str) -> tuple[dict[str, int], dict[str, int]]:
    """Operations and bytes of one turn, from the POST until the run waits again."""
    before = system.counts.snapshot()
    say(system, thread, text)
    return system.counts.since(before)


def test_a_plain_turn_enters_at_most_nine_states_and_one_with_a_call_fifteen(system: System) -> None:
    thread = system.start("say hello", talker(system))
    system.rest(thread, turns=1)
    seen = len(states(system, thread))
    say(system, thread, "say it again")
    plain = states(system, thread)[seen:]
    assert plain == [*PLAIN_STATES[1:], "TurnDone", "ReceiveMessage"]
    seen += len(plain)
    say(system, thread, "note it")
    with_call = states(system, thread)[seen:]
    assert sorted(with_call) == sorted([*plain, "HandleToolCalls", "CallKind", "RunTool", *PLAIN_STATES[1:5]])
    assert len(plain) == 7
    assert len(with_call) == 14


def test_a_whole_run_of_one_turn_stays_within_the_budget(system: System) -> None:
    thread = system.start("note it", talker(system), turns_per_run=1)
    system.rest(thread, turns=1)
    system.wait_until(lambda: system.orchestrator.status(f"{thread}-1-1") == "SUCCEEDED")
    entered = states(system, thread)
    assert entered[0] == "Start"
    assert entered[-2:] == ["ContinueAsNew", "RunClosed"]
    assert len(entered) == 17


def test_what_a_turn_costs_does_not_grow_with_the_conversation(embedded: System) -> None:
    system = embedded
    thread = system.start("say 0", talker(system))
    system.rest(thread, turns=1)
    costs = {}
    for turn in range(2, LAST + 1):
        costs[turn] = cost(system, thread, f"say {turn:03}")
    assert system.aggregate(thread).turns == LAST
    third, (_, bytes_middle), (last, bytes_last) = costs[3][0], costs[MIDDLE], costs[LAST]
    assert {name: last[name] for name in last if name != "store.items"} == {
        name: third[name] for name in third if name != "store.items"
    }
    for name, size in bytes_last.items():
        assert abs(size - bytes_middle[name]) <= 0.02 * size + 64, name


def test_a_plain_turn_reads_and_writes_this_often(system: System) -> None:
    thread = system.start("say hello", talker(system))
    system.rest(thread, turns=1)
    operations, sizes = cost(system, thread, "say it again")
    assert operations == PLAIN_COST
    assert sizes["store.put"] < 8_000


def test_a_turn_with_a_call_reads_and_writes_this_often(system: System) -> None:
    thread = system.start("say hello", talker(system))
    system.rest(thread, turns=1)
    operations, sizes = cost(system, thread, "note it")
    assert operations == CALL_COST
    assert sizes["store.put"] < 16_000


def test_a_plain_turn_pushes_each_event_once_to_each_listener(system: System) -> None:
    system.listen("c-1")
    system.listen("c-2")
    thread = system.start("say hello", talker(system))
    system.rest(thread, turns=1)
    operations, sizes = cost(system, thread, "say it again")
    events: list[dict[str, Any]] = [event for event in system.events(thread) if event["turn"] == 2]
    assert operations["pusher.post"] == 2 * len(events) == 10
    frames = [json.dumps(event, separators=(",", ":"), ensure_ascii=False) for event in events]
    assert sizes["pusher.post"] == 2 * sum(len(frame.encode()) for frame in frames)
    assert len(named(events, "StreamMessageChunk")) == 1


def test_the_readme_tells_what_is_counted_here() -> None:
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    for turn, told in (("without tools | 7 | 5", PLAIN_COST), ("with one tool call | 14 | 8", CALL_COST)):
        reads = told["store.get"] + told["store.query"]
        assert f"| {turn} | {reads} | {told['store.put']} |" in readme
