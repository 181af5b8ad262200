"""Plain conversations: the reference run, the chain of runs, the inbox, the end."""

from __future__ import annotations

import pytest

from tests.support.backends import ONLY_EMBEDDED
from tests.support.soundness import CALL, PLAIN, REPLY, assert_sound, named, story
from tests.support.systems import HELD, System

CONFIRMED = ["ActionRequiresConfirmation", "ActionConfirmed", "ThreadStart (resumed)", "ToolResponse"]
THINK = {"delay": HELD}


def test_the_reference_run_greets_refunds_after_approval_and_says_thanks(system: System) -> None:
    system.open_shop()
    thread = system.start("Hello", turns_per_run=2)
    system.rest(thread, turns=1)
    system.say(thread, "Please refund my order")
    (proposal,) = system.pending(thread)
    assert system.status(thread)["phase"] == "awaiting_approval"
    assert proposal["name"] == "issueRefund"
    assert proposal["arguments"]["order_id"] == "A-1001"
    assert proposal["thread_id"] == thread
    assert "A-1001" in proposal["question"]
    assert system.data("marketer")["order/A-1001"]["refund"] is None

    assert system.decide(proposal, True) == {"outcome": "applied", "decision": "approved"}
    system.rest(thread, turns=2)
    refund = system.data("marketer")["order/A-1001"]["refund"]
    assert refund["key"] == proposal["proposal_id"]
    system.say(thread, "Thanks")
    status = system.rest(thread, turns=3)

    events = assert_sound(system, thread)
    assert story(events) == [
        *PLAIN,
        "UserMessage",
        "ThreadStart",
        *CALL,
        *CONFIRMED,
        *REPLY,
        "RunContinued",
        *PLAIN,
    ]
    contents = [data["content"] for data in named(events, "UserMessage")]
    assert contents == ["Hello", "Please refund my order", "Thanks"]
    assert named(events, "ActionConfirmed") == [
        {"proposal_id": proposal["proposal_id"], "reviewer": "dev", "arguments": proposal["arguments"]}
    ]
    assert named(events, "ToolResponse")[0]["ok"] is True
    assert named(events, "ThreadEnd") == [
        {"turn": turn, "reply_ref": f"{thread}/{turn}"} for turn in (1, 2, 3)
    ]
    assert [(run["generation"], run["status"], run["turns"]) for run in system.runs(thread)] == [
        (1, "continued", 2),
        (2, "waiting", 1),
    ]
    assert (status["generation"], status["turns"], status["title"]) == (2, 3, "Hello")
    assert status["last_reply_ref"] == f"{thread}/3"
    reply = system.get(system.of_thread(thread, "/replies/3"))
    assert reply["content"] == named(events, "MessageEnd")[-1]["content"]
    assert "Thanks" in reply["content"]


def test_a_run_shows_the_model_calls_of_its_own_turns(system: System) -> None:
    system.agent()
    thread = system.start("one", "talker", turns_per_run=2)
    for turns, message in ((1, "two"), (2, "three")):
        system.rest(thread, turns=turns)
        system.say(thread, message)
    system.rest(thread, turns=3)
    shown = [system.get(system.of_thread(thread, f"/runs/{run}"))["model_calls"] for run in (1, 2)]
    assert [[call["turn"] for call in calls] for calls in shown] == [[1, 2], [3]]


def test_every_frame_pushed_is_the_logged_event(system: System) -> None:
    system.agent()
    system.listen()
    thread = system.start("Hello", "talker")
    system.rest(thread)
    events = assert_sound(system, thread)
    pushed = [frame for frame in system.frames if frame.get("thread_id") == thread]
    assert sorted(pushed, key=lambda frame: frame["seq"]) == events


def test_messages_that_come_during_a_turn_are_answered_in_the_order_they_came(system: System) -> None:
    system.agent(script=[{"when": "first", "text": "One.", **THINK}])
    thread = system.start("first", "talker", turns_per_run=2)
    system.held()
    for message in ("second", "third", "fourth"):
        system.say(thread, message)
    assert system.status(thread)["queued"] == 3
    assert system.status(thread)["phase"] == "thinking"
    system.let_go()
    system.rest(thread, turns=4)
    events = assert_sound(system, thread)
    contents = [data["content"] for data in named(events, "UserMessage")]
    assert contents == ["first", "second", "third", "fourth"]
    assert [name for name in story(events) if name != "RunContinued"] == PLAIN * 4
    assert [run["turns"] for run in system.runs(thread)] == [2, 2, 0]


def test_a_repeated_post_finds_the_first_message_queued_applied_or_answered(system: System) -> None:
    system.agent(script=[{"when": "first", "text": "One.", **THINK}])
    chat = system.of_project("/agents/talker/chat")
    first = {"message": "first", "client_message_id": "c-1"}
    second = {"message": "second", "client_message_id": "c-2"}
    started = system.post(chat, first)
    thread = started["thread_id"]
    assert system.post(chat, first) == started
    system.held()
    queued = system.post(system.of_thread(thread), second)
    assert system.post(system.of_thread(thread), second) == queued
    assert system.status(thread)["queued"] == 1
    system.let_go()
    system.rest(thread, turns=2)
    assert system.post(chat, first) == started
    assert (
        system.post(system.of_thread(thread), {"message": "second"}, headers={"idempotency-key": "c-2"})
        == queued
    )
    assert system.rest(thread)["turns"] == 2
    assert story(assert_sound(system, thread)) == PLAIN * 2
    assert [data["client_message_id"] for data in named(system.events(thread), "UserMessage")] == [
        "c-1",
        "c-2",
    ]


@ONLY_EMBEDDED
def test_another_body_under_the_same_client_id_is_refused(system: System) -> None:
    system.agent()
    chat = system.of_project("/agents/talker/chat")
    thread = system.post(chat, {"message": "first", "client_message_id": "c-1"})["thread_id"]
    system.rest(thread)
    for path in (chat, system.of_thread(thread)):
        answer = system.request("POST", path, body={"message": "other", "client_message_id": "c-1"})
        assert (answer.status, answer.error) == (422, "client_message_id_reused")
    assert system.rest(thread)["turns"] == 1
    assert_sound(system, thread)


@ONLY_EMBEDDED
def test_the_twenty_first_queued_message_is_refused_and_the_others_are_answered(system: System) -> None:
    system.agent(script=[{"when": "first", "text": "One.", **THINK}], turns_per_run=50)
    thread = system.start("first", "talker")
    system.held()
    for number in range(20):
        system.say(thread, f"message {number}")
    answer = system.request("POST", system.of_thread(thread), body={"message": "one too many"})
    assert (answer.status, answer.error) == (429, "too_many_queued")
    assert system.status(thread)["queued"] == 20
    if system.backend == "aws":
        return  # twenty-one turns take moto too long
    system.let_go()
    system.rest(thread, turns=21)
    contents = [data["content"] for data in named(assert_sound(system, thread), "UserMessage")]
    assert contents == ["first", *(f"message {number}" for number in range(20))]


def test_inactivity_ends_the_run_and_the_next_message_starts_the_next_one(system: System) -> None:
    system.agent()
    thread = system.start("Hello", "talker", inactivity_seconds=1)
    system.rest(thread, turns=1)
    system.clock.advance(1)
    system.wait_until(lambda: system.aggregate(thread).run.status == "closed", "the run is closed")
    system.wait_until(lambda: story(system.events(thread))[-1] == "RunEnded", "and said so")
    status = system.status(thread)
    assert (status["phase"], status["generation"]) == ("waiting_for_input", 1)
    stale = system.request("POST", system.of_thread(thread), body={"message": "late", "generation": 1})
    assert (stale.status, stale.error) == (409, "run_closed")

    system.say(thread, "Are you there?", inactivity_seconds=3600)
    status = system.rest(thread, turns=2)
    assert status["generation"] == 2
    events = assert_sound(system, thread)
    assert story(events) == [*PLAIN, "RunEnded", *PLAIN]
    assert named(events, "RunEnded") == [{"generation": 1, "reason": "inactive"}]
    assert [run["status"] for run in system.runs(thread)] == ["inactive", "waiting"]


def test_the_end_command_completes_the_conversation_for_good(system: System) -> None:
    system.agent()
    thread = system.start("Hello", "talker")
    system.rest(thread, turns=1)
    end = {"message": "/end", "client_message_id": "bye"}
    ended = system.post(system.of_thread(thread), end)
    system.wait_until(lambda: system.aggregate(thread).phase == "completed", "completed")
    answer = system.request("POST", system.of_thread(thread), body={"message": "One more thing"})
    assert (answer.status, answer.error) == (409, "conversation_completed")
    assert system.post(system.of_thread(thread), end) == ended
    assert system.cancel(thread) is False
    events = assert_sound(system, thread, phase="completed")
    assert story(events) == [*PLAIN, "ConversationCompleted"]
    assert [run["status"] for run in system.runs(thread)] == ["completed"]
    assert system.status(thread)["turns"] == 1


@pytest.mark.parametrize(
    ("system", "first"), [("embedded", True), ("embedded", False), ("aws", False)], indirect=["system"]
)
def test_the_end_command_waits_for_the_messages_before_it(system: System, first: bool) -> None:
    system.agent(script=[{"when": "first", "text": "One.", **THINK}])
    if first:
        thread = system.start("/end", "talker")
    else:
        thread = system.start("first", "talker")
        system.held()
        system.say(thread, "second")
        system.say(thread, " /end ")
        refused = system.request("POST", system.of_thread(thread), body={"message": "after the end"})
        assert (refused.status, refused.error) == (409, "conversation_completed")
        system.let_go()
    system.wait_until(lambda: system.aggregate(thread).phase == "completed", "completed")
    events = assert_sound(system, thread, phase="completed")
    assert story(events) == [*([] if first else PLAIN * 2), "ConversationCompleted"]


@ONLY_EMBEDDED
def test_ids_of_any_form_are_not_found_rather_than_an_error(system: System) -> None:
    for name in ("é" * 200, "x" * 200, "a b", "%00"):
        for path in (f"/agents/{name}", f"/chat-threads/{name}"):
            answer = system.request("GET", system.of_project(path))
            assert answer.status in (404, 422), answer.text
        for method, path, body in (
            ("POST", system.of_project(f"/agents/{name}/chat"), {"message": "hello"}),
            ("POST", system.of_thread(name), {"message": "hello"}),
            ("GET", f"/api/projects/{name}/agents", None),
            ("POST", f"/confirmations/{name}", {"approved": True}),
        ):
            answer = system.request(method, path, body=body)
            assert (answer.status, answer.error) == (404, "not_found"), answer.text
