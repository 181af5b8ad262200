"""Scripts of the scripted provider: steps, errors, delays."""

from typing import Any

import pytest

from parley.domain.agents import Capabilities
from parley.domain.errors import ProviderRateLimited, ProviderRejectedRequest, StreamCut
from parley.prompts.predefined import predefined_prompt
from parley.providers.scripted import ScriptedProvider
from parley.turns.model_ports import TextDelta
from tests.providers.scripted_prompts import (
    AGENT,
    answered,
    calls,
    labels,
    never,
    prompt,
    reply_to,
    suggested,
    used,
)
from tests.support.replies import collect


def test_a_delay_is_slept_between_words() -> None:
    slept: list[float] = []
    collect(ScriptedProvider(slept.append).stream(prompt("Hello", delay=0.25)))
    assert slept == [0.25] * 6


def test_a_script_answers_the_calls_of_a_thread_in_order() -> None:
    script = [
        {"text": "One."},
        {"tool_calls": [{"name": "f", "arguments": {"a": 1}}]},
        {"text": "Three."},
    ]
    assert reply_to(prompt("a", script=script)).text == "One."
    assert calls(reply_to(prompt("a", answered("One."), "b", script=script))) == [("f", {"a": 1})]
    third = prompt("a", answered("One."), "b", *used("f", "r"), script=script)
    assert reply_to(third).text == "Three."
    fourth = prompt("a", answered("One."), "b", *used("f", "r"), answered("Three."), "c", script=script)
    assert reply_to(fourth).text == 'You said: "c". How can I help?'


def test_a_turn_that_failed_used_up_its_step() -> None:
    script = [{"error": "ProviderRejectedRequest"}, {"text": "Two."}]
    with pytest.raises(ProviderRejectedRequest, match="scripted: "):
        reply_to(prompt("a", script=script))
    assert reply_to(prompt("a", "b", script=script)).text == "Two."


def test_steps_with_when_answer_the_turns_that_say_so() -> None:
    script = [
        {"when": "weather", "tool_calls": [{"name": "f"}]},
        {"when": "Weather", "text": "Sunny."},
        {"text": "Else."},
    ]
    asked = prompt("x", answered("Else."), "The weather?", script=script)
    assert reply_to(asked).names == ["f"]
    assert reply_to(prompt("The WEATHER?", *used("f", "r"), script=script)).text == "Sunny."
    assert reply_to(prompt("x", script=script)).text == "Else."


def test_an_error_can_come_a_number_of_times_and_in_mid_stream() -> None:
    error = {"type": "ProviderRateLimited", "message": "slow down", "retry_after": 2, "times": 2, "after": 1}
    asked = prompt("a", script=[{"chunks": ["At ", "last."], "error": error}])
    provider = ScriptedProvider(never)
    for _ in range(2):
        stream = provider.stream(asked)
        assert next(stream) == TextDelta("At ")
        with pytest.raises(ProviderRateLimited) as raised:
            next(stream)
        assert raised.value.retry_after == 2
    assert collect(provider.stream(asked)).text == "At last."


def test_a_cut_stream_has_no_end_and_arguments_may_be_broken() -> None:
    script = [{"tool_calls": [{"name": "f", "arguments": '{"a": '}], "cut": True, "delay": 3}]
    slept: list[float] = []
    reply = collect(ScriptedProvider(slept.append).stream(prompt("a", script=script)))
    assert reply.calls == [["f", "scripted_0", '{"a": ']]
    assert reply.finish is None
    assert slept == [3]


def test_every_error_class_can_be_scripted() -> None:
    with pytest.raises(StreamCut):
        reply_to(prompt("a", script=[{"error": "StreamCut", "text": "Hel"}]))


@pytest.mark.parametrize(
    "settings",
    [
        {"script": [{"txt": "a"}]},
        {"script": "a"},
        {"script": [{"error": "Nope"}]},
        {"delay": "a"},
        {"delay": -1},
    ],
)
def test_a_script_that_is_none_is_a_request_at_fault(settings: dict[str, Any]) -> None:
    with pytest.raises(ProviderRejectedRequest, match=r"settings\.(script|delay)"):
        reply_to(prompt("a", **settings))


def test_a_script_answers_what_is_asked_beside_the_conversation() -> None:
    script = [
        {"purpose": "suggestions", "when": "hats", "text": '[{"label": "Hats", "message": "More hats"}]'},
        {"purpose": "suggestions", "text": '[{"label": "Else", "message": "Something else"}]'},
        {"purpose": "predefined", "when": "sells", "text": "What sells best?"},
        {"text": "The first reply."},
    ]
    agent = AGENT.but(settings={"script": script})
    assert labels(suggested(agent, ("user", "Show hats"))) == ["Hats"]
    assert labels(suggested(agent, ("user", "Analyze trends"))) == ["Else"], "the example is nobody's word"
    wish = predefined_prompt(agent, Capabilities(), "Ask what sells")
    assert reply_to(wish).text == "What sells best?"
    assert reply_to(predefined_prompt(agent, Capabilities(), "Say hello")).text == "Say hello"
    assert reply_to(prompt("Hello", script=script)).text == "The first reply."
