"""What has to be true of a conversation in which something died: all that is true of any, and that nobody can tell.

``tell`` checks what holds by itself and gives the conversation's story, without times and tries. The story with a
death in it has to be that of the same conversation without one.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, cast

from parley.domain import keys
from parley.domain.conversation import RunStatus
from parley.domain.proposals import Proposal
from tests.faults.person import PROJECT, Person
from tests.faults.scenarios import Scenario
from tests.support.soundness import assert_sound, named
from tests.support.systems import System

_OF_ITS_TIME = frozenset(
    {"at", "timestamp", "expires_at", "created_at", "decided_at", "updated_at", "seq", "last_seq", "attempt"}
)
_OF_ITS_TRY = frozenset(
    {"StreamMessageChunk", "FunctionArgumentsChunk", "FunctionGenerationStart", "MessageReset"}
)


class Story(NamedTuple):
    """What came of a conversation. Texts are JSON, one per entry."""

    status: str
    runs: str
    messages: list[str]
    events: list[str]
    replies: list[str]
    proposals: list[str]
    effects: list[str]


def tell(stage: Person, scenario: Scenario) -> Story:
    """The story, after one message more if there can be one. Raises AssertionError."""
    stage.fate.playing = False
    if not scenario.ends:
        turns = stage.aggregate(stage.thread).turns
        stage.write("more of that")
        stage.rests(turns + 1)
    phase = "completed" if scenario.ends else "waiting_for_input"
    events = assert_sound(cast(System, stage), stage.thread, phase=phase)
    _assert_decided(events)
    _assert_followed(stage, events)
    story = _story(stage, scenario, events)
    _assert_nothing_hangs(stage, phase)
    return story


def _assert_decided(events: list[dict[str, Any]]) -> None:
    """Who was shown an action has heard once what became of it, and of no other."""
    shown = [data["proposal_id"] for data in named(events, "ActionRequiresConfirmation")]
    heard = [
        data["proposal_id"] for name in ("ActionConfirmed", "ActionRejected") for data in named(events, name)
    ]
    assert len(shown) == len(set(shown))
    assert sorted(shown) == sorted(heard), (shown, heard)


def _assert_followed(stage: Person, events: list[dict[str, Any]]) -> None:
    """Who followed from the start has what who comes now is given."""
    stage.follower.catch_up()
    assert stage.follower.differing == [], stage.follower.differing
    assert [event["seq"] for event in stage.follower.events] == [event["seq"] for event in events]
    for mine, logged in zip(stage.follower.events, events, strict=True):
        assert mine == logged or "$ref" in mine["data"], (mine, logged)


def _assert_nothing_hangs(stage: Person, phase: str) -> None:
    """One run waits at most, and when its time is over none; nothing is due."""
    conversation = stage.aggregate(stage.thread)
    over = conversation.run.status is RunStatus.CLOSED
    waits = [] if over else [keys.execution_name(*conversation.run_id)]
    stage.until(lambda: stage.running() == waits, f"what runs is {waits}")
    assert _due(stage) == []
    if not over:
        stage.waits_out()
    assert stage.status(stage.thread)["phase"] == phase
    assert _due(stage) == []
    names = [name for name, _ in stage.executions()]
    assert len(names) == len(set(names))


def _due(stage: Person) -> list[str]:
    store = stage.runtime.store
    return [item.partition for shard in keys.DUE_SHARDS for item in store.query_index("due", shard)]


def _story(stage: Person, scenario: Scenario, events: list[dict[str, Any]]) -> Story:
    status = stage.status(stage.thread)
    runs = stage.runs(stage.thread)
    assert sum(run["turns"] for run in runs) == status["turns"], (runs, status)
    assert len(runs) == len({run["generation"] for run in runs}) == status["generation"]
    messages = _messages(stage, events)
    told = [_text(event) for event in events if event["event"] not in _OF_ITS_TRY]
    if scenario.stopped:  # how far it had come when it was stopped is of its time, too
        told, messages = [], [message for message in messages if message["kind"] == "USER_MESSAGE"]
    return Story(
        status=_text(status),
        runs=_text([[run["generation"], run["status"], run["turns"]] for run in runs]),
        messages=[_text(message) for message in messages],
        events=told if scenario.ordered else sorted(told),
        replies=_replies(stage),
        proposals=_proposals(stage, messages),
        effects=_effects(stage),
    )


def _messages(stage: Person, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    below = sorted({event["subthread_id"] for event in events if event["subthread_id"]})
    return [message for thread in (None, *below) for message in stage.messages(stage.thread, thread)]


def _replies(stage: Person) -> list[str]:
    """Every turn's reply behind its reference: what the history has."""
    found = []
    for message in stage.messages(stage.thread):
        if message["kind"] == "ASSISTANT_MESSAGE":
            reply = stage.get(stage.of_thread(stage.thread, f"/replies/{message['turn']}"))
            assert reply["content"] == message["content"], reply
            found.append(reply["content"])
    return found


def _proposals(stage: Person, messages: list[dict[str, Any]]) -> list[str]:
    """Every action that waited, with the decision on it: none is open."""
    found = []
    for message in messages:
        if message["kind"] == "PENDING_USER_CONFIRMATION":
            partition = keys.proposal_partition(message["metadata"]["proposal_id"])
            item = stage.runtime.store.get(partition, keys.PROPOSAL)
            assert item is not None
            proposal = Proposal.model_validate_json(item.body)
            assert proposal.decision is not None, proposal
            found.append(_text(proposal.model_dump(mode="json")))
    return found


def _effects(stage: Person) -> list[str]:
    """What the functions did to the world: under each key once, however often they ran."""
    noted = stage.runtime.store.query(keys.data_partition(PROJECT, "notes"), "", limit=1000)
    ran = sorted(f"{name} {key}" for name, key in stage.world.done)
    return [*ran, *(f"{item.sort} {item.body}" for item in noted)]


def _text(value: Any) -> str:
    return json.dumps(_timeless(value), sort_keys=True, ensure_ascii=False)


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(part) for key, part in value.items() if key not in _OF_ITS_TIME}
    if isinstance(value, list):
        return [_timeless(part) for part in value]
    return value


def differences(clean: Story, other: Story) -> list[str]:
    """What differs, in words short enough to read."""
    found = []
    for name, was, now in zip(Story._fields, clean, other, strict=True):
        if was == now:
            continue
        if isinstance(was, str) or isinstance(now, str):
            found.append(f"{name}: {_short(now)} where it was {_short(was)}")
            continue
        found += [f"{name}: missing {_short(entry)}" for entry in was if entry not in now]
        found += [f"{name}: new {_short(entry)}" for entry in now if entry not in was]
        if sorted(was) == sorted(now):
            found.append(f"{name}: in another order: {[_short(entry, 60) for entry in now]}")
        elif len(now) != len(set(now)) and len(was) == len(set(was)):
            found.append(f"{name}: something is there twice")
    return found


def _short(value: Any, most: int = 400) -> str:
    text = str(value)
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"
