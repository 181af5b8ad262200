"""The phase of a thread at every save, in order: what a person who looks may see, and when."""

from __future__ import annotations

from typing import Any

import pytest

from parley.domain import keys
from parley.domain.conversation import Conversation, Phase
from parley.tools.function import agent_function
from tests.support.backends import ONLY_EMBEDDED
from tests.support.systems import HELD, Note, System

W, T, AWAITING = Phase.WAITING_FOR_INPUT, Phase.THINKING, Phase.AWAITING_APPROVAL
A, R, C, DONE = Phase.APPLYING_ACTION, Phase.RECORDING_REPLY, Phase.CONTINUING_AS_NEW, Phase.COMPLETED
NOTE: dict[str, Any] = {"when": "note", "tool_calls": [{"name": "note", "arguments": {"text": "milk"}}]}
TWO: dict[str, Any] = {
    **NOTE,
    "tool_calls": [*NOTE["tool_calls"], {"name": "note", "arguments": {"text": "bread"}}],
}


@pytest.fixture
def phases(system: System, monkeypatch: pytest.MonkeyPatch) -> list[Phase]:
    """The phases that were saved, without repetitions; of a test with one thread."""
    seen: list[Phase] = []
    put = system.runtime.store.put

    def watched(item: Any, **options: Any) -> Any:
        stored = put(item, **options)
        if item.sort == keys.CONVERSATION:
            phase = Conversation.model_validate_json(item.body).phase
            if seen[-1:] != [phase]:
                seen.append(phase)
        return stored

    monkeypatch.setattr(system.runtime.store, "put", watched)
    return seen


def put_agent(system: System, script: list[dict[str, Any]], **fields: Any) -> str:
    asks = agent_function(Note, requires_user_confirmation=True)
    return system.agent(functions=[asks], script=script, **fields)


@ONLY_EMBEDDED
def test_a_plain_turn_thinks_records_and_waits(system: System, phases: list[Phase]) -> None:
    put_agent(system, [{"when": "held", "text": "Hm.", "delay": HELD}])
    thread = system.start("held", "talker")
    system.held()
    assert system.status(thread)["phase"] == "thinking"
    system.let_go()
    system.rest(thread, turns=1)
    assert phases == [T, R, W]


@pytest.mark.parametrize("approved", [True, False])
def test_an_action_is_awaited_and_applied_only_if_it_is_approved(
    system: System, phases: list[Phase], approved: bool
) -> None:
    thread = system.start("note it", put_agent(system, [NOTE, {"when": "note", "text": "Done."}]))
    (proposal,) = system.pending(thread)
    assert system.status(thread)["phase"] == "awaiting_approval"
    system.decide(proposal, approved)
    system.rest(thread, turns=1)
    assert phases == [T, AWAITING, *([A] if approved else []), T, R, W]


@ONLY_EMBEDDED
def test_of_two_actions_the_thread_awaits_approval_until_the_last_is_decided(
    system: System, phases: list[Phase]
) -> None:
    thread = system.start("note it", put_agent(system, [TWO, {"when": "note", "text": "Done."}]))
    first, second = system.pending(thread, 2)
    system.decide(first, True)
    system.wait_until(lambda: sum(event["event"] == "ToolResponse" for event in system.events(thread)) == 1)
    assert system.status(thread)["phase"] == "awaiting_approval"
    system.decide(second, True)
    system.rest(thread, turns=1)
    assert phases == [T, AWAITING, A, T, R, W]


def test_a_run_that_has_done_its_share_continues_as_new(system: System, phases: list[Phase]) -> None:
    thread = system.start("hello", put_agent(system, [], turns_per_run=1))
    system.wait_until(lambda: system.aggregate(thread).run.generation == 2)
    system.rest(thread, turns=1)
    system.wait_until(lambda: phases[-1] is W and C in phases)
    assert phases == [T, R, W, C, W]


@ONLY_EMBEDDED
def test_a_message_that_waits_is_thought_about_at_once(system: System, phases: list[Phase]) -> None:
    put_agent(system, [{"when": "held", "text": "Hm.", "delay": HELD}])
    thread = system.start("held", "talker")
    system.held()
    system.say(thread, "And then?")
    system.let_go()
    system.rest(thread, turns=2)
    assert phases == [T, R, T, R, W]


@ONLY_EMBEDDED
def test_a_cancelled_and_a_failed_turn_end_as_others_do(system: System, phases: list[Phase]) -> None:
    script: list[dict[str, Any]] = [
        {"when": "held", "text": "Hm.", "delay": HELD},
        {"when": "fail", "error": "ProviderUnauthorized"},
    ]
    thread = system.start("held", put_agent(system, script))
    system.held()
    system.cancel(thread)
    system.rest(thread, turns=1)
    assert phases[-1] is W
    system.say(thread, "fail")
    system.rest(thread, turns=2)
    assert phases[-2:] == [R, W]
    assert AWAITING not in phases


def test_the_end_is_for_good(system: System, phases: list[Phase]) -> None:
    thread = system.start("hello", put_agent(system, []))
    system.rest(thread, turns=1)
    system.say(thread, "/end")
    system.wait_until(lambda: phases[-1] is DONE)
    assert phases == [T, R, W, T, DONE]
    assert system.status(thread)["phase"] == "completed"
