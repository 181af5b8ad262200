"""What a subagent gets, where its work is kept, and how deep it goes; see ``test_functions`` for its events."""

from __future__ import annotations

from typing import Any

from parley.domain.agents import AgentFunction, SubagentFunction
from parley.prompts.prompt import Prompt
from tests.support.outline import tree
from tests.support.soundness import assert_sound, named, prompts, told
from tests.support.systems import HELD, System


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def delegates(name: str, to: str, **fields: Any) -> AgentFunction:
    template = fields.pop("subagent_user_message", "User wants to: {user_request}")
    implementation = SubagentFunction(subagent_id=to, subagent_user_message=template, **fields)
    return AgentFunction(name=name, implementation=implementation)


def opened(events: list[dict[str, Any]]) -> list[str]:
    """The subthreads, in the order of the calls that opened them: calls of one reply open theirs side by side."""
    by_call = {data["tool_call_id"]: data["subthread_id"] for data in named(events, "AgentSubthreadStart")}
    return [
        by_call[data["tool_call_id"]] for data in named(events, "ToolCall") if data["tool_call_id"] in by_call
    ]


def said(prompt: Prompt) -> list[str]:
    return [message.content for message in prompt.messages]


def test_a_subagent_gets_its_own_prompt_model_functions_and_the_message_of_the_template(
    system: System,
) -> None:
    system.agent(
        "helper", model="demo-mini", system_prompt="You help.", settings={"temperature": 0}, history_window=3
    )
    template = "In {place.city}: {what}, {tags.count} tags ({tags}), {note|nothing else}, {missing}"
    own_words = "You help with one thing alone."
    functions = [
        delegates("plain", "helper"),
        delegates("special", "helper", subagent_system_prompt=own_words, subagent_user_message=template),
    ]
    arguments = {"place": {"city": "Łódź"}, "what": "sell {hats}", "tags": ["a", "b"]}
    calls = [call("plain", user_request="sell"), {"name": "special", "arguments": arguments}]
    system.agent(functions=functions, script=[{"tool_calls": calls}, {"text": "Both asked."}])
    thread = system.start("go", "talker")
    system.rest(thread, turns=1)
    plain, special = opened(assert_sound(system, thread))
    (first,) = prompts(system, thread, plain)
    (second,) = prompts(system, thread, special)
    assert (first.system, second.system) == ("You help.", own_words)
    assert said(first) == ["User wants to: sell"]
    assert said(second) == ["In Łódź: sell {hats}, 2 tags (a, b), nothing else, {missing}"]
    assert {(each.model, each.tools) for each in (first, second)} == {("demo-mini", ())}
    assert first.settings == {"temperature": 0}


def test_calls_at_once_of_one_function_that_keeps_its_context_get_a_subthread_each(system: System) -> None:
    system.agent("helper", script=[{"when": "one", "text": "One.", "delay": HELD}])
    twice = [call("help", user_request="one"), call("help", user_request="two")]
    script = [
        {"when": "both", "tool_calls": twice},
        {"when": "both", "text": "Both."},
        {"when": "again", "tool_calls": [call("help", user_request="three")]},
        {"when": "again", "text": "Again."},
    ]
    system.agent(functions=[delegates("help", "helper", preserve_previous_context=True)], script=script)
    thread = system.start("both", "talker")
    system.held()
    system.let_go()
    system.rest(thread, turns=1)
    assert told(system, thread)[0] == ("One.", True)
    first, second = opened(assert_sound(system, thread))
    assert first != second
    system.say(thread, "again")
    system.rest(thread, turns=2)
    third = opened(assert_sound(system, thread))[2]
    assert third in (first, second), "the one that keeps the context, whichever call got it"
    assert len(said(prompts(system, thread, third)[-1])) == 3


def test_a_context_that_is_kept_outlives_a_turn_that_was_cancelled_in_it(system: System) -> None:
    system.agent("helper", script=[{"when": "one", "text": "never said", "delay": HELD}])
    script = [
        {"when": word, "tool_calls": [call("help", user_request=request)]}
        for word, request in (("first", "one"), ("second", "two"))
    ]
    system.agent(functions=[delegates("help", "helper", preserve_previous_context=True)], script=script)
    thread = system.start("first", "talker")
    system.held()
    assert system.cancel(thread) is True
    system.rest(thread, turns=1)
    system.say(thread, "second")
    system.rest(thread, turns=2)
    first, second = opened(assert_sound(system, thread))
    assert first == second
    asked = [message["content"] for message in system.messages(thread, first) if message["role"] == "user"]
    assert asked == ["User wants to: one", "User wants to: two"]


def test_three_levels_are_kept_as_a_tree_and_the_fourth_is_refused_in_words(system: System) -> None:
    levels = ("talker", "lead", "worker", "helper", "too-deep")
    system.agent(levels[-1])
    for place in reversed(range(len(levels) - 1)):
        script = [
            {"tool_calls": [call("deeper", user_request=f"level {place + 1}")]},
            {"text": f"{levels[place]} is done."},
        ]
        system.agent(levels[place], functions=[delegates("deeper", levels[place + 1])], script=script)
    thread = system.start("go", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    refusal = named(events, "ToolResponse")[0]["content"]
    assert "nest 3 deep" in refusal

    def asks(level: int) -> list[Any]:
        request = {"user_request": f"level {level}"}
        return [("ASSISTANT_TOOL_CALL", "", ("deeper", request))]

    expected: list[Any] = [
        ("USER_MESSAGE", "User wants to: level 3"),
        *asks(4),
        ("TOOL_RESPONSE", refusal),
        ("ASSISTANT_MESSAGE", "helper is done."),
    ]
    for level in (3, 2, 1):
        answer = f"{levels[level]} is done."
        expected = [
            ("USER_MESSAGE", f"User wants to: level {level - 1}" if level > 1 else "go"),
            *asks(level),
            ("AGENT_SUBTHREAD", levels[level], expected),
            ("TOOL_RESPONSE", answer),
            ("ASSISTANT_MESSAGE", f"{levels[level - 1]} is done."),
        ]
    assert tree(system, thread) == expected
    inside = {event["subthread_id"]: event["parent_thread_id"] for event in events if event["subthread_id"]}
    assert [inside[subthread] for subthread in opened(events)] == [thread, *opened(events)[:2]]
    for subthread in opened(events):
        alone = system.request("GET", system.of_thread(subthread, "/messages"))
        assert alone.status == 404, "a subthread is read through its root alone"
