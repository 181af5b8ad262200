"""Function calls and subagents."""

from __future__ import annotations

import json
from typing import Any

from parley.domain.agents import AgentFunction, SubagentFunction
from parley.tools.function import agent_function
from parley.turns.invoke_model import NO_FINAL_ANSWER
from tests.support.backends import ONLY_EMBEDDED
from tests.support.soundness import CALL, PLAIN, REPLY, assert_sound, named, prompts, story, told
from tests.support.systems import HELD, Note, System

SUBAGENT_CALL = [*CALL, "AgentSubthreadStart", "sub:SubthreadUserMessage"]
SUB_CALL = [f"sub:{name}" for name in CALL]
SUB_REPLY = ["sub:StreamMessageChunk…", "sub:MessageEnd"]


def call(name: str, arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def hand_over(name: str, to: str, **fields: Any) -> AgentFunction:
    """A function that another agent answers."""
    facts = {key: fields.pop(key) for key in ("requires_user_confirmation",) if key in fields}
    implementation = SubagentFunction(subagent_id=to, subagent_user_message="User wants to: {wish}", **fields)
    return AgentFunction(name=name, implementation=implementation, **facts)


@ONLY_EMBEDDED
def test_a_simple_function_answers_with_text_and_a_table(system: System) -> None:
    system.open_shop()
    thread = system.start("Show me the top 3 products")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events) == ["UserMessage", "ThreadStart", *CALL, "ToolResponse", *REPLY]
    (called,) = named(events, "ToolCall")
    assert (called["name"], called["arguments"]) == ("getTopProducts", {"limit": 3, "sortBy": "revenue"})
    (response,) = named(events, "ToolResponse")
    table = response["additional_data"]["table_data"]
    assert response["ok"] is True
    assert len(table["rows"]) == 3
    assert table["columns"][0] == "id"
    kept = [message for message in system.messages(thread) if message["kind"] == "TOOL_RESPONSE"]
    assert [message["additional_data"]["table_data"] for message in kept] == [table]
    assert named(events, "MessageEnd")[-1]["finish_reason"] == "stop"


@ONLY_EMBEDDED
def test_calls_that_cannot_succeed_are_answered_so_and_the_turn_goes_on(system: System) -> None:
    calls = [
        call("note", {"text": ""}),
        call("note", {"words": "milk"}),
        call("nothing", {"text": "milk"}),
        call("note", '{"text": '),
        call("note", "[1]"),
        call("note", '{"text": NaN}'),
        call("note", '{"text": "\\ud800"}'),
        call("note", '{"text": ' + '{"a":' * 300 + "1" + "}" * 301),
        call("note", ""),
        call("note", {"text": "fail"}),
        call("note", {"text": "crash"}),
        call("note", {"text": "milk"}),
    ]
    script = [{"text": "Let me see. ", "tool_calls": calls}, {"text": "Some of it worked."}]
    asks = agent_function(Note, name="asked", requires_user_confirmation=True)
    system.agent(
        functions=[agent_function(Note), asks], script=[*script, {"tool_calls": [call("asked", {})]}]
    )
    thread = system.start("Try everything", "talker")
    system.rest(thread, turns=1)
    results = told(system, thread)
    assert [ok for _, ok in results] == [False] * 11 + [True]
    words = [content for content, _ in results]
    assert words[0].startswith("Validation failed: ")
    assert "text" in words[0]
    assert words[1].startswith("Validation failed: ")
    assert "words" in words[1]
    assert words[2] == "There is no function nothing. Available: note, asked."
    assert all(each.startswith("Validation failed: ") for each in words[3:9])
    assert words[9] == "The notebook is full."
    assert words[10] == "note failed with an unexpected error (ZeroDivisionError)."
    assert words[11] == "Noted: milk"

    system.say(thread, "A call that cannot succeed is not worth asking a person about")
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    assert "ActionRequiresConfirmation" not in story(events)
    assert told(system, thread)[0][0].startswith("Validation failed: ")


def test_a_model_that_never_stops_calling_is_asked_for_a_final_answer_without_tools(
    embedded: System,
) -> None:
    system = embedded
    script = [{"when": "go", "tool_calls": [call("note", {"text": f"{n}"})]} for n in range(5)]
    system.agent(functions=[agent_function(Note)], script=script, max_iterations=2)
    thread = system.start("go", "talker")
    system.rest(thread, turns=1)
    sent = prompts(system, thread, thread)
    assert [len(prompt.tools) for prompt in sent] == [1, 1, 0]
    events = assert_sound(system, thread)
    assert len(named(events, "ToolCall")) == 2
    assert named(events, "MessageEnd")[-1]["content"] == NO_FINAL_ANSWER
    assert story(events)[-1] == "ThreadEnd"


def test_a_subagent_works_in_a_subthread_and_its_own_action_waits_for_approval(system: System) -> None:
    system.open_shop()
    wish = "set the label of the top 3 products to Summer"
    thread = system.start(f"Please manage products: {wish}")
    (proposal,) = system.pending(thread)
    assert proposal["name"] == "changeCustomLabel"
    assert proposal["thread_id"] != thread
    assert system.decide(proposal, True)["outcome"] == "applied"
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert story(events) == [
        "UserMessage",
        "ThreadStart",
        *SUBAGENT_CALL,
        *SUB_CALL,
        "sub:ToolResponse",
        *SUB_CALL,
        "sub:ActionRequiresConfirmation",
        "sub:ActionConfirmed",
        "sub:ThreadStart (resumed)",
        "sub:ToolResponse",
        *SUB_REPLY,
        "ToolResponse",
        *REPLY,
    ]
    (opened,) = named(events, "AgentSubthreadStart")
    assert opened["agent_id"] == "product-manager"
    assert opened["subthread_id"] == proposal["thread_id"]
    inner = [event for event in events if event["subthread_id"]]
    assert {(event["subthread_id"], event["parent_thread_id"], event["turn"]) for event in inner} == {
        (proposal["thread_id"], thread, 1)
    }
    assert named(events, "SubthreadUserMessage")[0]["content"] == f"User wants to: {wish}"
    ends = [event for event in events if event["event"] == "MessageEnd"]
    answer = named(events, "ToolResponse")[-1]
    assert answer["name"] == "manageProducts"
    assert answer["content"] == ends[0]["data"]["content"]
    products = proposal["arguments"]["products"]
    data = system.data("marketer")
    assert all("Summer" in data[f"product/{product:06d}"]["labels"].values() for product in products)
    kinds = [message["kind"] for message in system.messages(thread)]
    assert kinds == [
        "USER_MESSAGE",
        "ASSISTANT_TOOL_CALL",
        "AGENT_SUBTHREAD",
        "TOOL_RESPONSE",
        "ASSISTANT_MESSAGE",
    ]
    inside = system.messages(thread, proposal["thread_id"])
    assert [inside[0]["kind"], inside[-1]["kind"]] == ["USER_MESSAGE", "ASSISTANT_MESSAGE"]


def test_subagents_of_one_reply_work_side_by_side(system: System) -> None:
    for worker in ("left", "right"):
        system.agent(worker, script=[{"text": f"{worker} is done.", "delay": HELD}])
    calls = [call("askLeft", {"wish": "go left"}), call("askRight", {"wish": "go right"})]
    system.agent(
        functions=[hand_over("askLeft", "left"), hand_over("askRight", "right")],
        script=[{"tool_calls": calls}, {"text": "Both are done."}],
    )
    thread = system.start("Do both", "talker")
    system.held(2)
    system.let_go()
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert told(system, thread) == [("left is done.", True), ("right is done.", True)]
    for opened in named(events, "AgentSubthreadStart"):
        inner = [event for event in events if event["subthread_id"] == opened["subthread_id"]]
        assert story(inner) == ["sub:SubthreadUserMessage", *SUB_REPLY]


def test_a_subagent_may_keep_its_context_from_call_to_call(embedded: System) -> None:
    system = embedded
    system.agent("helper")
    again = {"when": "ask", "tool_calls": [call("help", {"wish": "know more"})]}
    for preserve in (True, False):
        system.agent(
            functions=[hand_over("help", "helper", preserve_previous_context=preserve)],
            script=[again, {"when": "ask", "text": "Asked."}],
        )
        thread = system.start("ask", "talker")
        system.rest(thread, turns=1)
        system.say(thread, "ask again")
        system.rest(thread, turns=2)
        first, second = named(assert_sound(system, thread), "AgentSubthreadStart")
        assert (first["subthread_id"] == second["subthread_id"]) is preserve
        sent = prompts(system, thread, second["subthread_id"])[-1]
        assert len(sent.messages) == (3 if preserve else 1)


def test_a_subagent_that_fails_answers_its_call_and_the_parent_goes_on(system: System) -> None:
    system.agent("helper", script=[{"error": "ProviderQuotaExceeded"}])
    system.agent(
        functions=[hand_over("help", "helper")],
        script=[{"tool_calls": [call("help", {"wish": "know"})]}, {"text": "No luck."}],
    )
    thread = system.start("ask", "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    ((content, ok),) = told(system, thread)
    assert (content.startswith("The subagent failed: "), ok) == (True, False)
    assert story(events)[5:] == [
        "AgentSubthreadStart",
        "sub:SubthreadUserMessage",
        "sub:TurnFailed",
        "ToolResponse",
        *REPLY,
    ]
    assert [failed["type"] for failed in named(events, "TurnFailed")] == ["ProviderQuotaExceeded"]
    system.say(thread, "Thanks anyway")
    system.rest(thread, turns=2)
    assert story(assert_sound(system, thread))[-5:] == PLAIN


def test_a_subagent_gets_the_arguments_that_a_person_edited(system: System) -> None:
    system.agent("helper")
    helps = hand_over("help", "helper", requires_user_confirmation=True)
    system.agent(
        functions=[helps], script=[{"when": "ask", "tool_calls": [call("help", {"wish": "know all"})]}]
    )
    thread = system.start("ask", "talker")
    (proposal,) = system.pending(thread)
    system.decide(proposal, True, arguments={"wish": "know a little"})
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert named(events, "ActionConfirmed")[0]["arguments"] == {"wish": "know a little"}
    assert named(events, "SubthreadUserMessage")[0]["content"] == "User wants to: know a little"


def test_handing_work_to_a_subagent_may_itself_need_approval(system: System) -> None:
    system.agent("helper")
    helps = hand_over("help", "helper", requires_user_confirmation=True)
    system.agent(
        functions=[helps],
        script=[
            {"when": "ask", "tool_calls": [call("help", {"wish": "know"})]},
            {"when": "ask", "text": "Ok."},
        ],
    )
    thread = system.start("ask", "talker")
    (proposal,) = system.pending(thread)
    system.decide(proposal, False)
    system.rest(thread, turns=1)
    assert told(system, thread)[0][1] is False
    system.say(thread, "ask again")
    (proposal,) = system.pending(thread)
    system.decide(proposal, True)
    system.rest(thread, turns=2)
    events = assert_sound(system, thread)
    second = story([event for event in events if event["turn"] == 2])
    assert second == [
        "UserMessage",
        "ThreadStart",
        *CALL,
        "ActionRequiresConfirmation",
        "ActionConfirmed",
        "ThreadStart (resumed)",
        "AgentSubthreadStart",
        "sub:SubthreadUserMessage",
        *SUB_REPLY,
        "ToolResponse",
        *REPLY,
    ]


def test_arguments_and_results_too_large_for_an_item_or_a_frame_are_whole_over_rest(system: System) -> None:
    large = "milk " * 16_000
    system.change_settings(inline_limit=50_000)
    system.agent("helper")
    helps = hand_over("help", "helper", requires_user_confirmation=True)
    script = [
        {"when": "ask", "tool_calls": [call("help", {"wish": large})]},
        {"when": "ask", "text": "Asked."},
    ]
    system.agent(functions=[helps], script=script)
    system.listen()
    thread = system.start("ask", "talker")
    (proposal,) = system.pending(thread)
    assert proposal["arguments"] == {"wish": large}
    (listed,) = system.get(system.of_project("/confirmations"))["confirmations"]
    assert listed["arguments"] == {"wish": large}
    system.decide(proposal, False)
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert named(events, "ToolCall")[0]["arguments"] == {"wish": large}
    frames = [json.dumps(frame) for frame in system.frames]
    assert max(len(frame) for frame in frames) <= 32_768
    referred = [frame for frame in system.frames if "$ref" in frame.get("data", {})]
    assert all(frame["data"] == {"$ref": frame["seq"]} for frame in referred)
    assert {frame["event"] for frame in referred} >= {"ToolCall", "ActionRequiresConfirmation"}
