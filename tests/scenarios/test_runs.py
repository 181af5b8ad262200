"""Looking inside: what a run did, what went in and what came out, its subagents' runs included."""

from __future__ import annotations

from typing import Any

from parley.tools.function import agent_function
from parley.turns import run_calls
from tests.scenarios.test_functions import call, hand_over
from tests.support.backends import ONLY_EMBEDDED
from tests.support.soundness import assert_sound
from tests.support.systems import Note, System


def run_of(system: System, thread: str, generation: int = 1, **query: Any) -> dict[str, Any]:
    run: dict[str, Any] = system.get(system.of_thread(thread, f"/runs/{generation}"), **query)
    return run


def entered(run: dict[str, Any], name: str) -> list[tuple[Any, Any, Any]]:
    """Turn, step and call of every visit of a state."""
    return [(s["turn"], s["step"], s["call"]) for s in run["states"] if s["name"] == name]


def test_a_run_tells_what_was_asked_sent_called_and_answered(system: System) -> None:
    system.agent(
        functions=[agent_function(Note)],
        script=[{"tool_calls": [call("note", {"text": "milk"}), call("note", {})]}, {"text": "Noted."}],
    )
    thread = system.start("Take notes", "talker")
    system.rest(thread, turns=1)
    run = run_of(system, thread)
    (asked,) = run["asked"]
    assert (asked["turn"], asked["content"], asked["failure"]) == (1, "Take notes", None)
    first, last = run["model_calls"]
    assert [call["name"] for call in first["tool_calls"]] == ["note", "note"]
    good, bad = first["tool_calls"]
    assert good["arguments"] == {"text": "milk"}
    assert (good["response"]["content"], good["response"]["ok"]) == ("Noted: milk", True)
    assert bad["response"]["ok"] is False
    assert bad["response"]["content"].startswith("Validation failed")
    assert (last["content"], last["tool_calls"], last["provider"]) == ("Noted.", [], "scripted")
    assert last["prompt"]["messages"][-1]["content"] == bad["response"]["content"]
    assert last["usage"]["output_tokens"] > 0
    assert entered(run, "InvokeModel") == [(1, 1, None), (1, 2, None)]
    assert sorted(entered(run, "RunTool")) == [(1, 1, 0), (1, 1, 1)]
    assert_sound(system, thread)


def test_a_run_shows_its_subagents_runs_where_they_were_called(system: System) -> None:
    system.open_shop()
    thread = system.start("Please manage products: set the label of the top 2 products to Summer")
    (proposal,) = system.pending(thread)
    waiting = run_of(system, thread)["model_calls"][0]["tool_calls"][0]["subagent"]
    assert waiting["states"][-1]["name"] == "AwaitConfirmation"
    assert waiting["states"][-1]["outcome"] == "running"
    assert waiting["model_calls"][-1]["tool_calls"][0]["confirmation"]["decision"] is None
    system.decide(proposal, True, reason="Nice")
    system.rest(thread, turns=1)
    run = run_of(system, thread)
    (handed,) = run["model_calls"][0]["tool_calls"]
    inner = handed["subagent"]
    assert (inner["agent_id"], inner["subthread_id"]) == ("product-manager", proposal["thread_id"])
    assert inner["asked"]["content"].startswith("User wants to:")
    assert inner["states"][0]["name"] == "Start"
    assert inner["states"][-1]["name"] == "RunClosed"
    assert entered(inner, "InvokeModel") == [(1, 1, None), (1, 2, None), (1, 3, None)]
    assert entered(inner, "AwaitConfirmation") == [(1, 2, 0)]
    confirmation = inner["model_calls"][1]["tool_calls"][0]["confirmation"]
    assert confirmation["question"] == proposal["question"]
    assert (confirmation["decision"]["outcome"], confirmation["decision"]["reviewer"]) == ("approved", "dev")
    assert inner["model_calls"][-1]["content"] == handed["response"]["content"]
    assert_sound(system, thread)


def test_a_subagent_that_keeps_its_context_shows_the_turn_that_answered_the_call(embedded: System) -> None:
    system = embedded
    system.agent("helper")
    again = {"when": "ask", "tool_calls": [call("help", {"wish": "know more"})]}
    system.agent(
        functions=[hand_over("help", "helper", preserve_previous_context=True)],
        script=[again, {"when": "ask", "text": "Asked."}],
    )
    thread = system.start("ask", "talker")
    system.rest(thread, turns=1)
    system.say(thread, "ask again")
    system.rest(thread, turns=2)
    calls = [model["tool_calls"] for model in run_of(system, thread)["model_calls"] if model["tool_calls"]]
    subagents = [made[0]["subagent"] for made in calls]
    assert subagents[0]["subthread_id"] == subagents[1]["subthread_id"]
    assert [model["turn"] for inner in subagents for model in inner["model_calls"]] == [1, 2]
    assert entered(subagents[1], "InvokeModel") == [(2, 1, None)]


def test_a_failed_turn_shows_its_retries_and_why(system: System) -> None:
    system.agent(script=[{"error": "ProviderUnavailable"}] * 5)
    thread = system.start("Hello", "talker")
    system.rest(thread, turns=1, moving=30.0)
    run = run_of(system, thread)
    (asked,) = run["asked"]
    assert asked["failure"]["type"]
    assert asked["failure"]["message"]
    (visit,) = [state for state in run["states"] if state["name"] == "InvokeModel"]
    assert (visit["outcome"], visit["error"], visit["retries"]) == ("failed", "ProviderUnavailable", 4)
    (model,) = run["model_calls"]
    assert (model["content"], model["usage"], model["at"]) == (None, None, None)
    assert model["prompt"]["messages"][-1]["content"] == "Hello"


@ONLY_EMBEDDED
def test_one_turn_of_a_run_can_be_asked_for_alone(system: System) -> None:
    system.agent()
    thread = system.start("one", "talker")
    system.rest(thread, turns=1)
    system.say(thread, "two")
    system.rest(thread, turns=2)
    run = run_of(system, thread, turn=2)
    assert [asked["content"] for asked in run["asked"]] == ["two"]
    assert [model["turn"] for model in run["model_calls"]] == [2]
    assert entered(run, "InvokeModel") == [(1, 1, None), (2, 1, None)]


def test_prompts_that_do_not_fit_into_one_answer_are_left_out_and_said_to_be(
    embedded: System, monkeypatch: Any
) -> None:
    system = embedded
    system.agent()
    thread = system.start("one", "talker")
    system.rest(thread, turns=1)
    system.say(thread, "two " + "x" * 30_000)
    system.rest(thread, turns=2)
    monkeypatch.setattr(run_calls, "PROMPTS_LIMIT", 10_000)
    models = run_of(system, thread)["model_calls"]
    assert [(model["prompt"] is None, model["prompt_left_out"]) for model in models] == [
        (False, False),
        (True, True),
    ]
    (whole,) = run_of(system, thread, turn=1)["model_calls"]
    assert whole == models[0]
    bare = run_of(system, thread, prompts="false")["model_calls"]
    assert [(model["prompt"], model["prompt_left_out"]) for model in bare] == [(None, True)] * 2
    assert run_of(system, thread)["asked"][1]["content"].endswith("… (10004 more characters)")
