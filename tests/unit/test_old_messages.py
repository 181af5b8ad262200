"""Older sessions, read: turns, calls, results, times; and what is no session, refused by name."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.agents import Agent, Capabilities
from parley.domain.errors import InvalidRequest
from parley.domain.messages import Message, MessageKind
from parley.prompts.build import build_prompt
from parley.prompts.history import exchanges
from parley.prompts.old_messages import PlainMessage, thread_messages
from parley.prompts.old_results import looks_like_results, read_results
from parley.turns.old_sessions import OldSession, read_session, sessions_in

CALL = '<tool_call name="look">{"place": "shelf"}</tool_call>'
RESULT = '<tool_response name="look" ok="true">a &lt; b</tool_response>'


def session(*messages: Any, **fields: Any) -> OldSession:
    entries = [
        {"role": role, "content": content, "timestamp": 1_700_000_000_000 + 1000 * place}
        for place, (role, content) in enumerate(messages)
    ]
    return read_session({"id": "s", "messages": entries, **fields})


def stored(*messages: tuple[str, str]) -> list[Message]:
    return thread_messages("t", session(*messages).messages)


def places(messages: list[Message]) -> list[tuple[str, int, int, str]]:
    return [(message.kind.value, message.turn, message.step, message.content) for message in messages]


def test_a_persons_message_opens_a_turn() -> None:
    assert places(
        stored(("user", "Hi"), ("assistant", "Hello"), ("user", "Bye"), ("assistant", "Bye then"))
    ) == [
        ("USER_MESSAGE", 1, 0, "Hi"),
        ("ASSISTANT_MESSAGE", 1, 1, "Hello"),
        ("USER_MESSAGE", 2, 0, "Bye"),
        ("ASSISTANT_MESSAGE", 2, 1, "Bye then"),
    ]


@pytest.mark.parametrize("results", [RESULT, f"Tool Results:\n{RESULT}", f"Tool Results:\n\n{RESULT}\n"])
def test_results_are_joined_to_the_calls_before_them(results: str) -> None:
    found = stored(
        ("user", "Hi"), ("assistant", f"Let me look.\n{CALL}"), ("user", results), ("assistant", "a < b")
    )
    assert places(found) == [
        ("USER_MESSAGE", 1, 0, "Hi"),
        ("ASSISTANT_TOOL_CALL", 1, 1, "Let me look."),
        ("TOOL_RESPONSE", 1, 1, "a < b"),
        ("ASSISTANT_MESSAGE", 1, 2, "a < b"),
    ]
    (call,) = found[1].tool_calls
    assert (call.name, call.arguments) == ("look", {"place": "shelf"})
    assert found[2].metadata["tool_call_id"] == call.tool_call_id
    assert found[2].metadata["is_tool_response"]


def test_results_find_their_calls_by_name_and_in_order() -> None:
    calls = CALL + '<tool_call name="feel">{}</tool_call>' + CALL
    results = (
        '<tool_response name="feel" success="false">hot</tool_response>\n'
        '<tool_response name="look">1</tool_response><tool_response tool="look" status="error">2</tool_response>'
    )
    found = [
        message
        for message in stored(("user", "Hi"), ("assistant", calls), ("user", results))
        if message.call or message.role == "tool"
    ]
    assert [(message.call, message.content, message.ok) for message in found] == [
        (1, "hot", False),
        (0, "1", True),
        (2, "2", False),
    ]


def test_results_that_answer_no_call_stay_and_no_person_sees_them() -> None:
    found = stored(
        ("user", "Hi"),
        ("assistant", "One moment."),
        ("user", "Tool Results:\n42 files"),
        ("assistant", "42."),
    )
    assert places(found)[2] == ("USER_MESSAGE", 1, 2, "42 files")
    assert found[2].internal
    assert found[2].metadata["is_tool_response"]
    assert found[3].turn == 1
    (exchange,) = exchanges(found)
    assert [message.content for message in exchange.messages] == ["Hi", "One moment.", "42 files", "42."]


def test_a_single_open_call_takes_a_result_in_plain_words() -> None:
    found = stored(("user", "Hi"), ("assistant", CALL), ("user", "Tool Results: 42 files"))
    assert places(found)[-1] == ("TOOL_RESPONSE", 1, 1, "42 files")


def test_a_person_may_open_with_the_words_that_results_begin_with() -> None:
    assert places(stored(("user", "Tool Results: what do they mean?"))) == [
        ("USER_MESSAGE", 1, 0, "Tool Results: what do they mean?")
    ]
    assert stored(("user", "Hi"), ("user", RESULT))[1].kind is MessageKind.USER_MESSAGE
    assert not stored(("user", "Hi"), ("user", RESULT))[1].internal


def test_a_greeting_before_anybody_spoke_is_turn_zero() -> None:
    found = stored(("assistant", "Welcome"), ("user", "Hi"))
    assert [(message.turn, message.step) for message in found] == [(0, 0), (1, 0)]


def test_blank_messages_leave_no_trace() -> None:
    assert places(stored(("user", " "), ("user", "Hi"), ("assistant", ""))) == [("USER_MESSAGE", 1, 0, "Hi")]


def test_an_example_of_a_call_in_a_code_fence_is_text() -> None:
    (_, reply) = stored(("user", "How?"), ("assistant", f"Like this:\n```\n{CALL}\n```"))
    assert reply.kind is MessageKind.ASSISTANT_MESSAGE
    assert CALL in reply.content


def test_a_call_with_broken_arguments_stays_a_call_that_says_so() -> None:
    (_, asked) = stored(("user", "Hi"), ("assistant", '<tool_call name="look">{"place": </tool_call>'))
    assert asked.tool_calls[0].arguments == {}
    assert asked.tool_calls[0].arguments_error


_texts = st.sampled_from(
    ["", "Hi", CALL, CALL * 2, RESULT, f"Tool Results:\n{RESULT}", "Tool Results:\nwords", "<b>"]
)
_plain = st.builds(PlainMessage, st.sampled_from(["user", "assistant"]), _texts, is_result=st.booleans())


@given(st.lists(_plain, max_size=15))
def test_any_old_session_is_a_history_with_places_of_its_own(messages: list[PlainMessage]) -> None:
    found = thread_messages("t", messages)
    keys = [
        (message.turn, message.step, message.kind is MessageKind.TOOL_RESPONSE, message.call)
        for message in found
    ]
    assert len(set(keys)) == len(keys)
    assert len({message.id for message in found}) == len(found)
    assert [message.turn for message in found] == sorted(message.turn for message in found)
    agent = Agent(agent_id="a", name="A", provider="openai", model="m", history_window=200)
    last = Message(id="x", kind=MessageKind.USER_MESSAGE, role="user", content="Now", timestamp=0, turn=99)
    prompt = build_prompt(agent, Capabilities(), [*found, last])
    calls = [call.tool_call_id for message in prompt.messages for call in message.tool_calls]
    answers = [message.tool_call_id for message in prompt.messages if message.role == "tool"]
    assert calls == answers


def test_results_are_read_whatever_their_attributes() -> None:
    text = (
        "<tool_response ok='false' name='a&amp;b'><![CDATA[x < y]]></tool_response>"
        '<tool_response name="empty"/> and <tool_response>nameless</tool_response>'
    )
    results, rest = read_results(text)
    assert [(result.name, result.content, result.ok) for result in results] == [
        ("a&b", "x < y", False),
        ("empty", "", True),
        ("", "nameless", True),
    ]
    assert rest == "and"
    assert looks_like_results("  <tool_response>")
    assert not looks_like_results("The Tool Results: fine")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1_700_000_000_000, 1_700_000_000.0),
        (1_700_000_000.5, 1_700_000_000.5),
        ("2023-11-14T22:13:20Z", 1_700_000_000.0),
        ("2023-11-14T22:13:20", 1_700_000_000.0),
        (None, 0.0),
    ],
)
def test_times_are_read_in_every_usual_form(value: Any, seconds: float) -> None:
    assert session(("user", "Hi"), createdAt=value).created_at == seconds or value is None


def test_a_message_without_a_time_has_that_of_the_one_before() -> None:
    messages = [{"role": "user", "content": "a", "timestamp": 50}, {"role": "assistant", "content": "b"}]
    read = read_session({"id": "s", "messages": messages})
    assert [message.timestamp for message in read.messages] == [50, 50]
    assert (read.created_at, read.updated_at) == (50, 50)


def test_instructions_may_stand_among_the_messages() -> None:
    read = session(("system", "Be kind."), ("user", "Hi"), ("system", "Be brief."), systemPrompt="Be kind.")
    assert read.system_prompt == "Be kind.\n\nBe brief."
    assert len(read.messages) == 1


def test_metadata_says_what_no_text_has_to_guess() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": CALL, "metadata": {"provider": "OpenAI"}},
        {"role": "user", "content": "42 files", "metadata": {"isToolResponse": True, "internal": True}},
        {"role": "tool", "content": "more"},
    ]
    read = read_session({"id": 7, "messages": messages})
    assert read.session_id == "7"
    found = thread_messages("t", read.messages)
    assert [message.kind.value for message in found][1:] == [
        "ASSISTANT_TOOL_CALL",
        "TOOL_RESPONSE",
        "USER_MESSAGE",
    ]
    assert found[1].metadata == {"provider": "openai"}


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ([], "object"),
        ({}, "id:"),
        ({"id": "", "messages": []}, "id:"),
        ({"id": "s"}, "messages:"),
        ({"id": "s", "messages": [1]}, r"messages\[0\]:"),
        ({"id": "s", "messages": [{"role": "wizard", "content": ""}]}, r"messages\[0\].role"),
        ({"id": "s", "messages": [{"role": "user", "content": 1}]}, r"messages\[0\].content"),
        ({"id": "s", "messages": [], "createdAt": "yesterday"}, "createdAt"),
        ({"id": "s", "messages": [], "createdAt": True}, "createdAt"),
        ({"id": "s", "messages": [], "updatedAt": -1}, "updatedAt"),
        ({"id": "s", "messages": [], "title": []}, "title"),
    ],
)
def test_what_is_no_session_is_refused_by_the_field(data: Any, field: str) -> None:
    with pytest.raises(InvalidRequest, match=field):
        read_session(data)


def test_a_file_holds_one_session_or_many() -> None:
    one = {"id": "s", "messages": []}
    assert sessions_in(one) == [one]
    assert sessions_in([one, one]) == [one, one]
    assert sessions_in({"sessions": [one]}) == [one]


def test_the_documented_session_is_one_turn_with_a_call_and_its_result() -> None:
    text = (Path(__file__).parents[2] / "docs" / "migration.md").read_text(encoding="utf-8")
    example = json.loads(text.split("```json\n")[1].partition("```")[0])
    read = read_session(example)
    found = thread_messages("t", read.messages)
    assert [(message.kind.value, message.turn) for message in found] == [
        ("USER_MESSAGE", 1),
        ("ASSISTANT_TOOL_CALL", 1),
        ("TOOL_RESPONSE", 1),
        ("ASSISTANT_MESSAGE", 1),
    ]
    assert found[2].content == "A-1001, on its way"
