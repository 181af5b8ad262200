"""Functions for models that have no calls of their own: they write them in their text."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from parley.tools.function import agent_function
from tests.support.backends import ONLY_EMBEDDED
from tests.support.soundness import REPLY, assert_sound, named, prompts, story
from tests.support.systems import HELD, Note, System

MILK = '<tool_call name="note">{"text": "milk"}</tool_call>'
IN_TEXT = [{"supports_tool_calls": False}, {"supports_tool_calls": False, "supports_conversation": False}]


def talker(system: System, capabilities: dict[str, Any], *texts: str, asks: bool = False) -> None:
    system.agent(
        capabilities=capabilities,
        functions=[agent_function(Note, requires_user_confirmation=asks)],
        script=[{"text": text} for text in texts],
    )


def results(events: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """What the calls brought, in the order of the calls in each reply."""
    order = [event["tool_call_id"] for event in named(events, "ToolCall")]
    found = sorted(named(events, "ToolResponse"), key=lambda event: order.index(event["tool_call_id"]))
    return [(event["content"], event["ok"]) for event in found]


@pytest.mark.parametrize("capabilities", IN_TEXT, ids=["conversing", "one text"])
def test_calls_in_text_run_and_their_results_come_back_as_text(
    system: System, capabilities: dict[str, Any]
) -> None:
    eggs = "<tool_call id='2' name='note'><![CDATA[{\"text\": \"eggs ]]> & </tool_call>\"}]]></tool_call>"
    talker(system, capabilities, f"Two notes.\n\n{MILK}\n{eggs}\n", "Both are noted.")
    thread = system.start("Note milk and eggs", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert [event["arguments"] for event in named(events, "ToolCall")] == [
        {"text": "milk"},
        {"text": "eggs ]]> & </tool_call>"},
    ]
    assert [content for content, _ in results(events)] == [
        "Noted: milk",
        "Noted: eggs ]]> & </tool_call>",
    ]
    ends = named(events, "MessageEnd")
    assert [(end["content"], end["finish_reason"]) for end in ends] == [
        ("Two notes.", "tool_calls"),
        ("Both are noted.", "stop"),
    ]
    last = prompts(system, thread)[-1]
    seen = last.text if last.text is not None else "\n".join(message.content for message in last.messages)
    assert MILK.replace(": ", ":") in seen
    assert '<tool_response name="note" ok="true">Noted: milk</tool_response>' in seen
    assert last.tools == ()


@ONLY_EMBEDDED
def test_an_example_in_code_runs_nothing(system: System) -> None:
    text = f"You would write:\n```xml\n{MILK}\n```\nShall I?"
    talker(system, IN_TEXT[0], text)
    thread = system.start("How do you take notes?", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events) == ["UserMessage", "ThreadStart", *REPLY]
    assert named(events, "MessageEnd")[0]["content"] == text


@ONLY_EMBEDDED
def test_calls_that_are_wrong_are_answered_so_and_the_turn_goes_on(system: System) -> None:
    talker(
        system,
        IN_TEXT[1],
        '<tool_call name="nothing">{}</tool_call> <tool_call name="note">{text: milk}</tool_call>',
        'Again: <tool_call name="note">{"text": "mi',
        MILK,
        "At last.\n\nHuman: Thanks!\n\nAssistant: You are welcome.",
    )
    thread = system.start("Note milk", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    words = results(events)
    assert [ok for _, ok in words] == [False, False, False, True]
    assert words[0][0] == "There is no function nothing. Available: note."
    assert words[1][0].startswith("Validation failed: the arguments are not valid JSON")
    assert "cut off" in words[2][0]
    assert named(events, "MessageEnd")[-1]["content"] == "At last."


@ONLY_EMBEDDED
def test_a_call_in_text_waits_for_a_person_like_any_other(system: System) -> None:
    talker(system, IN_TEXT[1], f"Shall I?\n{MILK}", "Noted.", asks=True)
    thread = system.start("Note milk", "talker")
    (proposal,) = system.pending(thread)
    assert proposal["question"] == "Note milk?"
    assert system.decide(proposal, True) == {"outcome": "applied", "decision": "approved"}
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert results(events) == [("Noted: milk", True)]


def shown(system: System, thread: str, name: str) -> list[dict[str, Any]]:
    return named(system.events(thread), name)


def test_a_call_in_text_is_shown_while_it_is_written(embedded: System) -> None:
    chunks = ["Two notes.", '\n<tool_call name="note">{"text": "mi', 'lk"}</tool_call> Done.']
    embedded.agent(
        capabilities=IN_TEXT[0],
        functions=[agent_function(Note)],
        script=[{"chunks": chunks, "chunk_delay": HELD}, {"text": "Noted."}],
    )
    thread = embedded.start("Note milk", "talker")
    for name in ("StreamMessageChunk", "FunctionArgumentsChunk"):
        embedded.wait_until(partial(shown, embedded, thread, name), f"{name} is there")
        assert not named(embedded.events(thread), "ToolCall")
        embedded.held()
        embedded.let_go()
    embedded.rest(thread, turns=1)
    events = assert_sound(embedded, thread)
    assert [chunk["text"] for chunk in named(events, "FunctionArgumentsChunk")] == ['{"text": "mi', 'lk"}']
    assert named(events, "MessageEnd")[0]["content"] == "Two notes.\n\nDone."
    assert results(events) == [("Noted: milk", True)]
