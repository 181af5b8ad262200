"""How long a turn waits for a function, of whichever kind."""

from __future__ import annotations

import threading

import pytest

from parley.tools.function import agent_function
from tests.scenarios.elsewhere import MAYBE, Elsewhere, Slow, call
from tests.support.backends import ONLY_EMBEDDED
from tests.support.soundness import assert_sound, named, story, told
from tests.support.wire_server import Answer

JSON = {"content-type": "application/json"}


def test_a_function_that_hangs_is_given_up_and_its_turn_goes_on(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    script = [{"tool_calls": [call("slow")]}, {"text": "It hangs."}]
    slow = agent_function(Slow).model_dump(exclude_none=True)
    put = elsewhere.put({**slow, "time_limit_seconds": 1}, script=script)
    assert put.status == 200, put.text
    thread = system.start("Do it", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    words = f"slow did not finish within 1 s. {MAYBE}"
    assert told(system, thread) == [(words, False)]
    assert named(events, "ToolResponse")[0]["content"] == words
    assert story(events)[-1] == "ThreadEnd"
    system.say(thread, "Never mind")
    Slow.end.set()
    system.rest(thread, turns=2)


@ONLY_EMBEDDED
def test_an_endpoint_that_hangs_is_given_up_and_its_turn_goes_on(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    elsewhere.http.answers.append(Answer(hold=threading.Event(), headers=JSON))
    script = [{"tool_calls": [call("order", item="tea")]}, {"text": "It hangs."}]
    elsewhere.put(elsewhere.by_http(time_limit_seconds=1), script=script)
    thread = system.start("Do it", "talker")
    system.rest(thread, turns=1)
    assert_sound(system, thread)
    ((words, ok),) = told(system, thread)
    assert not ok
    assert words.endswith(f"within 1 s. {MAYBE}")
    assert elsewhere.http.client_left.wait(120)


@pytest.mark.parametrize("kind", ["class", "http"])
def test_a_cancelled_turn_waits_for_no_function(elsewhere: Elsewhere, kind: str) -> None:
    system = elsewhere.system
    hold = threading.Event()
    elsewhere.http.answers.append(Answer(hold=hold, headers=JSON))
    wanted = call("slow") if kind == "class" else call("order", item="tea")
    elsewhere.put(
        agent_function(Slow).model_dump(exclude_none=True),
        elsewhere.by_http(time_limit_seconds=30),
        script=[{"tool_calls": [wanted]}, {"text": "Never said."}],
    )
    thread = system.start("Do it", "talker")
    system.wait_until(lambda: Slow.begun.is_set() or elsewhere.http.received, "the function runs")
    assert system.cancel(thread)
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events)[-1] == "TurnCancelled"
    (response,) = named(events, "ToolResponse")
    name = "slow" if kind == "class" else "order"
    assert response["ok"] is False
    assert response["content"] == f"The user cancelled this turn while {name} was running. {MAYBE}"
    hold.set()
    Slow.end.set()
    system.say(thread, "Again")
    system.rest(thread, turns=2)


@ONLY_EMBEDDED
def test_a_class_has_a_limit_of_its_own_and_the_agents_is_in_front(elsewhere: Elsewhere) -> None:
    system = elsewhere.system
    slow = {"name": "slow", "implementation": {"kind": "class", "class_name": "slow"}}
    limits = {}
    for limit in (None, 7):
        elsewhere.put({**slow, "time_limit_seconds": limit}, elsewhere.by_http(), script=[])
        (agent,) = system.get(system.of_project("/agents"))["agents"]
        limits[limit] = [function["time_limit_seconds"] for function in agent["functions"]]
    assert limits == {None: [200, 60], 7: [7, 60]}
    for wrong in (0, 301, "long"):
        assert elsewhere.put({**slow, "time_limit_seconds": wrong}, script=[]).status == 422
