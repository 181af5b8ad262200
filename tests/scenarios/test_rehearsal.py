"""What packs are tested with: a conversation in a test, and a function's context."""

from __future__ import annotations

import pytest

import parley_marketer
from parley.domain.errors import InvalidRequest
from parley.testing import NotAnswered, Rehearsal, function_context, rehearsal
from parley.tools.function import agent_function
from parley_marketer.tasks import CreateTask

TASK = {"title": "Call Ana", "description": "About her order."}
AGENT = {
    "agent_id": "planner",
    "name": "Planner",
    "provider": "scripted",
    "model": "demo",
    "confirmation_seconds": 60,
    "settings": {
        "script": [
            {"when": "task", "tool_calls": [{"name": "createTask", "arguments": TASK}]},
            {"when": "broken", "error": {"type": "ProviderRejectedRequest", "message": "no such model"}},
        ]
    },
    "functions": [agent_function(CreateTask)],
}


@pytest.fixture
def talk(tmp_path):
    with rehearsal(tmp_path, [AGENT]) as conversation:
        yield conversation


def tasks(talk: Rehearsal) -> list[str]:
    return [entry.value["title"] for entry in talk.data(CreateTask.pack).list("task/")]


def test_a_plain_message_is_answered(talk):
    assert talk.say("Hello") == 'You said: "Hello". How can I help?'
    assert [event["seq"] for event in talk.events] == list(range(1, len(talk.events) + 1))


def test_an_approved_action_runs_once_and_its_response_is_there_to_look_at(talk):
    assert talk.say("A task, please") is None
    assert [proposal["arguments"] for proposal in talk.pending] == [TASK]
    assert tasks(talk) == []
    assert talk.decide(approved=True)
    assert tasks(talk) == ["Call Ana"]
    assert [(name, ok) for name, ok, _ in talk.responses] == [("createTask", True)]


def test_a_declined_action_does_not_run(talk):
    talk.say("A task, please")
    assert talk.decide(approved=False, reason="Not today")
    assert tasks(talk) == []
    assert [ok for _, ok, _ in talk.responses] == [False]
    assert "Not today" in talk.responses[0][2]


def test_edited_arguments_are_what_runs_and_bad_ones_are_refused(talk):
    talk.say("A task, please")
    with pytest.raises(InvalidRequest, match="title"):
        talk.decide(approved=True, arguments={"title": 7})
    talk.decide(approved=True, arguments={**TASK, "title": "Write to Ana"})
    assert tasks(talk) == ["Write to Ana"]


def test_time_passes_when_the_test_says_so(talk):
    talk.say("A task, please")
    assert talk.pass_time(66)
    assert talk.pending == []
    assert tasks(talk) == []


def test_a_failed_turn_fails_the_test_that_waits_for_its_reply_and_no_later_one(talk):
    with pytest.raises(NotAnswered, match="no such model"):
        talk.say("broken")
    assert talk.say("Hello")


def test_a_decision_on_nothing_says_so(talk):
    talk.say("Hello")
    with pytest.raises(NotAnswered, match="nothing waits"):
        talk.decide(approved=True)


def test_subagents_are_given_before_the_agent_that_has_them(tmp_path):
    with rehearsal(tmp_path, parley_marketer.agents()) as talk:
        parley_marketer.install(talk.runtime.store, "rehearsal", talk.clock)
        assert talk.say("Manage products: change label for top 3") is None
        assert talk.pending[0]["thread_id"] != talk.thread_id
        assert talk.decide(approved=True)


def test_a_function_can_be_called_alone_and_again_under_its_key(tmp_path):
    with function_context(tmp_path, CreateTask.pack, idempotency_key="proposal-1") as context:
        task = CreateTask.Arguments(**TASK)
        once, again = (CreateTask(context).handle(task) for _ in range(2))
        assert once == again
        assert len(context.data.list("task/")) == 1
