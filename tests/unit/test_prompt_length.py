"""A prompt keeps within its model's context, and in which form a conversation is put."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parley.domain.agents import Agent, AgentFunction, Capabilities, ClassFunction
from parley.domain.errors import ProviderRejectedRequest
from parley.domain.messages import Message, MessageKind, ToolCall
from parley.prompts.build import EARLIER, build_prompt
from parley.prompts.concatenated import GO_ON, RESULTS
from parley.prompts.fit import estimated_tokens
from parley.prompts.prompt import MessageForm, Prompt
from tests.support.stored_histories import stored_histories

FUNCTION = AgentFunction(name="look", description="Looks.", implementation=ClassFunction(class_name="look"))
FORMS: tuple[MessageForm, ...] = ("messages", "concatenated")
TREE = "src/\n  main.py\n" * 20


def agent(**changes: Any) -> Agent:
    facts = {"agent_id": "a", "name": "A", "provider": "openai", "model": "m", "system_prompt": "Be brief."}
    return Agent.model_validate({**facts, "history_window": 200, **changes})


def user(turn: int, content: str = "Hi", **metadata: Any) -> Message:
    kind = MessageKind.USER_MESSAGE
    return Message(
        id=f"u{turn}", kind=kind, role="user", content=content, timestamp=0, turn=turn, metadata=metadata
    )


def said(turn: int, content: str = "Hello") -> Message:
    kind = MessageKind.ASSISTANT_MESSAGE
    return Message(id="a", kind=kind, role="assistant", content=content, timestamp=0, turn=turn, step=1)


def called(turn: int, *answers: str) -> list[Message]:
    calls = tuple(ToolCall(tool_call_id=f"c{turn}-{place}", name="look") for place in range(len(answers)))
    kind = MessageKind.ASSISTANT_TOOL_CALL
    asked = Message(id="c", kind=kind, role="assistant", timestamp=0, turn=turn, step=1, tool_calls=calls)
    return [
        asked,
        *(
            Message(
                id="r",
                kind=MessageKind.TOOL_RESPONSE,
                role="tool",
                content=answer,
                timestamp=0,
                turn=turn,
                metadata={"tool_call_id": call.tool_call_id},
            )
            for call, answer in zip(calls, answers, strict=True)
        ),
    ]


def built(
    history: list[Message], limit: int | None = None, form: MessageForm = "messages", **fields: Any
) -> Prompt:
    overrides = {"max_context_length": limit} if limit else {}
    return build_prompt(
        agent(capabilities=overrides, **fields),
        Capabilities(),
        history,
        file_tree=TREE,
        form=form,
    )


@given(
    stored_histories("openai"),
    st.integers(1, 1200),
    st.sampled_from(FORMS),
    st.sampled_from(["native", "xml"]),
)
def test_a_prompt_fits_or_is_refused(
    history: list[Message], limit: int, form: MessageForm, tool_form: str
) -> None:
    turn = max((message.turn for message in history), default=0) + 1
    current = [user(turn, "Now"), *called(turn, "Seen", "Seen too")]
    whole = built([*history, *current], form=form, tool_form=tool_form)
    try:
        prompt = built([*history, *current], limit, form, tool_form=tool_form)
    except ProviderRejectedRequest:
        assert estimated_tokens(whole) > limit
        bare = build_prompt(agent(tool_form=tool_form), Capabilities(), current, form=form)
        assert estimated_tokens(bare) > limit
        return
    assert estimated_tokens(prompt) <= limit
    kept = len(prompt.messages)
    assert prompt.messages == whole.messages[len(whole.messages) - kept :]
    assert prompt.messages[0].role == "user"
    assert not prompt.messages[0].internal
    own = 4 if tool_form == "native" and form == "messages" else 3
    assert kept >= own
    if estimated_tokens(whole) <= limit:
        assert prompt.messages == whole.messages


def test_the_oldest_exchanges_go_first_then_the_tree_then_the_summary() -> None:
    history = [message for turn in range(1, 30) for message in (user(turn, "x" * 300), said(turn, "y" * 300))]
    history.append(user(30, "Now"))
    least = estimated_tokens(build_prompt(agent(), Capabilities(), history[-1:]))
    with pytest.raises(ProviderRejectedRequest, match=f"room for {least - 1}"):
        built(history, least - 1)
    steps = []
    for limit in (*range(8000, least, -20), least):
        prompt = built(history, limit)
        step = (len(prompt.messages), TREE.strip() in prompt.system, EARLIER in prompt.system)
        if step not in steps:
            steps.append(step)
    assert steps[0] == (59, True, False)
    phases = [[step for step in steps if step[1:] == kept] for kept in dict.fromkeys(s[1:] for s in steps)]
    assert [step for phase in phases for step in phase] == steps
    assert [phase[-1] for phase in phases] == [
        (59, True, False),
        (1, True, True),
        (1, False, True),
        (1, False, False),
    ]
    assert all(phase == sorted(phase, reverse=True) for phase in phases)


def test_the_reply_gets_its_room() -> None:
    history = [user(1, "x" * 3000), said(1), user(2)]
    assert len(built(history, 1500).messages) == 3
    assert len(built(history, 1500, settings={"max_tokens": 800}).messages) == 1
    with pytest.raises(ProviderRejectedRequest, match="room for a reply"):
        built(history, 1500, settings={"max_tokens": 1500})


def test_other_scripts_are_taken_to_need_more_tokens() -> None:
    english, chinese = (built([user(1, text * 100)]) for text in ("a", "世"))
    assert estimated_tokens(chinese) - estimated_tokens(english) == 100 - 34


def test_no_limit_means_no_limit() -> None:
    assert len(built([user(1, "x" * 1_000_000)]).messages[0].content) == 1_000_000


def test_an_agent_may_have_its_functions_called_as_text() -> None:
    history = [user(1), *called(1, "Seen", "Seen too")]
    prompt = built(history, tool_form="xml", functions=[FUNCTION])
    assert prompt.text is None
    assert prompt.tools == ()
    assert prompt.xml_tools
    assert "## Tools" in prompt.system
    assert [(message.role, message.internal) for message in prompt.messages] == [
        ("user", False),
        ("assistant", False),
        ("user", True),
    ]
    assert prompt.messages[2].content.count("<tool_response ") == 2


def test_the_older_form_is_one_text_for_a_model_that_converses_too() -> None:
    history = [user(1), *called(1, "Seen"), said(1), user(2, "And now?")]
    prompt = built(history, form="concatenated", functions=[FUNCTION])
    assert prompt.form == "concatenated"
    assert prompt.tools == ()
    assert prompt.capabilities.supports_conversation
    assert prompt.text is not None
    assert prompt.text.endswith("\n\nAssistant: Hello\n\nHuman: And now?\n\nAssistant:")
    assert "## Tools" in prompt.text


def test_results_that_the_model_has_yet_to_see_are_a_part_of_their_own() -> None:
    for abilities, form in (
        (Capabilities(supports_conversation=False), "messages"),
        (Capabilities(), FORMS[1]),
    ):
        history = [user(1), *called(1, "Seen", "Seen <too>")]
        prompt = build_prompt(agent(functions=[FUNCTION]), abilities, history, form=form)  # type: ignore[arg-type]
        assert prompt.text is not None
        head, _, end = prompt.text.partition(f"\n\n{RESULTS}\n\n")
        assert head.endswith("</tool_call>")
        assert "Human: <tool_response" not in prompt.text
        assert end == (
            '<tool_response name="look" ok="true">Seen</tool_response>\n'
            '<tool_response name="look" ok="true">Seen &lt;too&gt;</tool_response>'
            f"\n\n{GO_ON}\n\nAssistant:"
        )


def test_a_message_that_no_person_wrote_goes_to_the_model_and_opens_no_exchange() -> None:
    internal = user(1, "Tool Results:\n42", internal=True, is_tool_response=True)
    history = [user(1), said(1), internal, said(1, "It is 42."), user(2)]
    prompt = built(history)
    assert [message.content for message in prompt.messages] == [
        "Hi",
        "Hello",
        "Tool Results:\n42",
        "It is 42.",
        "Hi",
    ]
    short = built(history, history_window=2)
    assert len(short.messages) == 1
    assert "Human: Tool Results" not in (built(history, form="concatenated").text or "")


def test_what_a_small_context_leaves_out_is_summed_up() -> None:
    history = [part for turn in range(1, 5) for part in (user(turn, f"Q{turn} " + "x" * 2000), said(turn))]
    prompt = build_prompt(
        agent(capabilities={"max_context_length": 1200}), Capabilities(), [*history, user(5, "Now")]
    )
    assert [message.content[:3] for message in prompt.messages] == ["Q4 ", "Hel", "Now"]
    assert [f"User: Q{turn} " in prompt.system for turn in range(1, 5)] == [True, True, True, False]


@pytest.mark.parametrize("length", [0, -1])
def test_a_context_has_room_for_something(length: int) -> None:
    with pytest.raises(ValidationError):
        agent(capabilities={"max_context_length": length})
