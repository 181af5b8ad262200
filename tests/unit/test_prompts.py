"""Prompts: valid for any history, whole exchanges only, parts in their places."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parley.domain.agents import Agent, AgentFunction, Capabilities, ClassFunction
from parley.domain.messages import Message, MessageKind, ToolCall
from parley.prompts.build import EARLIER, FINAL_ANSWER, build_prompt
from parley.prompts.history import EMPTY_FAILURE, NO_RESULT
from parley.prompts.prompt import Prompt
from parley.providers.wire.openai_chat import encode

TOOLS = (AgentFunction(name="look", description="Looks.", implementation=ClassFunction(class_name="look")),)
NO_TOOLS = Capabilities(supports_tool_calls=False)


def agent(**changes: Any) -> Agent:
    values = {"agent_id": "a", "name": "A", "provider": "openai", "model": "m", "system_prompt": "Be brief."}
    return Agent.model_validate(values | changes)


def user(turn: int, content: str = "Hi") -> Message:
    return Message(
        id=f"u{turn}", kind=MessageKind.USER_MESSAGE, role="user", content=content, timestamp=0, turn=turn
    )


def said(turn: int, content: str = "Hello", step: int = 1) -> Message:
    kind = MessageKind.ASSISTANT_MESSAGE
    return Message(id="a", kind=kind, role="assistant", content=content, timestamp=0, turn=turn, step=step)


def called(turn: int, *ids: str, content: str = "", **arguments: Any) -> Message:
    calls = tuple(ToolCall(tool_call_id=call_id, name="look", arguments=arguments) for call_id in ids)
    kind = MessageKind.ASSISTANT_TOOL_CALL
    return Message(
        id="c", kind=kind, role="assistant", content=content, timestamp=0, turn=turn, step=1, tool_calls=calls
    )


def answered(turn: int, call_id: str, content: str = "Seen", *, ok: bool = True) -> Message:
    return Message(
        id="r",
        kind=MessageKind.TOOL_RESPONSE,
        role="tool",
        content=content,
        timestamp=0,
        turn=turn,
        ok=ok,
        metadata={"tool_call_id": call_id},
    )


def noise(turn: int, kind: MessageKind) -> Message:
    return Message(id="n", kind=kind, role="system", content="not for models", timestamp=0, turn=turn)


def shape(prompt: Prompt) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in prompt.messages]


def check_openai_messages(messages: Sequence[dict[str, Any]]) -> None:
    """What the chat completions API demands of a message list."""
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            assert open_calls, "a result without its call right before"
            assert message["tool_call_id"] == open_calls.pop(0)
            assert isinstance(message["content"], str)
            assert message["content"].strip()
            continue
        assert not open_calls, "a call without its result"
        if message["role"] == "system":
            assert place == 0
        calls = message.get("tool_calls")
        assert calls or (isinstance(message["content"], str) and message["content"])
        if calls is not None:
            assert message["role"] == "assistant"
            open_calls = [call["id"] for call in calls]
            assert open_calls
            assert len(set(open_calls)) == len(open_calls)
            assert all(isinstance(call["function"]["arguments"], str) for call in calls)
    assert not open_calls
    assert next(message["role"] for message in messages if message["role"] != "system") == "user"


_ids = st.sampled_from(["c1", "c2", "c3", "c4"])
_texts = st.sampled_from(["", " ", "text"])
_one = st.one_of(
    st.builds(lambda text: ("user", text), st.just("Hi")),
    st.builds(lambda text: ("said", text), _texts),
    st.builds(lambda ids, text: ("called", (ids, text)), st.lists(_ids, max_size=3), _texts),
    st.builds(lambda call_id, text, ok: ("answered", (call_id, text, ok)), _ids, _texts, st.booleans()),
    st.builds(
        lambda kind: ("noise", kind),
        st.sampled_from(
            [MessageKind.AGENT_SUBTHREAD, MessageKind.PENDING_USER_CONFIRMATION, MessageKind.TURN_FAILED]
        ),
    ),
)


def _history(drawn: list[tuple[str, Any]]) -> list[Message]:
    history: list[Message] = []
    turn = 0
    for kind, value in drawn:
        turn += kind == "user"
        match kind:
            case "user":
                history.append(user(turn, value))
            case "said":
                history.append(said(turn, value))
            case "called":
                history.append(called(turn, *value[0], content=value[1]))
            case "answered":
                history.append(answered(turn, value[0], value[1], ok=value[2]))
            case _:
                history.append(noise(turn, value))
    return history


@given(st.lists(_one, max_size=30), st.integers(1, 8), st.sampled_from([Capabilities(), NO_TOOLS]))
def test_any_history_becomes_a_message_list_that_openai_accepts(
    drawn: list[tuple[str, Any]], limit: int, abilities: Capabilities
) -> None:
    history = [*_history(drawn), user(1000, "The last one")]
    prompt = build_prompt(agent(history_window=limit, functions=TOOLS), abilities, history)
    check_openai_messages(encode(prompt)["messages"])
    assert prompt.messages[-1].content == "The last one"
    assert len(prompt.messages) <= limit


@given(st.lists(_one, max_size=30), st.integers(1, 8))
def test_the_current_turn_is_always_whole(drawn: list[tuple[str, Any]], limit: int) -> None:
    earlier = _history(drawn)
    turn = 1 + max((message.turn for message in earlier), default=0)
    current = [user(turn, "Now"), called(turn, "z1", "z2"), answered(turn, "z1"), answered(turn, "z2")]
    prompt = build_prompt(agent(history_window=limit), Capabilities(), [*earlier, *current])
    assert [role for role, _ in shape(prompt)[-4:]] == ["user", "assistant", "tool", "tool"]
    opening = build_prompt(agent(history_window=limit), Capabilities(), [*earlier, current[0]])
    assert prompt.messages[: len(opening.messages)] == opening.messages


def test_a_window_starts_at_a_whole_exchange() -> None:
    history = [user(1), called(1, "c"), answered(1, "c"), said(1), user(2), said(2), user(3)]
    for limit, count in ((1, 1), (2, 1), (3, 3), (6, 3), (7, 7), (20, 7)):
        prompt = build_prompt(agent(history_window=limit), Capabilities(), history)
        assert len(prompt.messages) == count
        assert prompt.messages[0].role == "user"


def test_a_small_context_gets_fewer_exchanges() -> None:
    history = [user(1, "long " * 100), said(1), user(2), said(2), user(3)]
    prompt = build_prompt(agent(capabilities={"max_context_length": 50}), Capabilities(), history)
    assert len(prompt.messages) == 3


def test_a_call_without_a_result_gets_one_right_behind_it() -> None:
    prompt = build_prompt(agent(), Capabilities(), [user(1), called(1, "c"), user(2, "Something else")])
    assert shape(prompt) == [
        ("user", "Hi"),
        ("assistant", ""),
        ("tool", NO_RESULT),
        ("user", "Something else"),
    ]
    assert not prompt.messages[2].ok


def test_a_result_that_came_late_stands_behind_its_call() -> None:
    history = [user(1), called(1, "c"), user(2, "Something else"), answered(1, "c", "Late")]
    assert shape(build_prompt(agent(), Capabilities(), history))[2] == ("tool", "Late")


def test_an_empty_failure_gets_words() -> None:
    history = [user(1), called(1, "c"), answered(1, "c", "", ok=False)]
    assert shape(build_prompt(agent(), Capabilities(), history))[-1] == ("tool", EMPTY_FAILURE)


def test_numbers_that_json_does_not_have_become_null() -> None:
    history = [user(1), called(1, "c", a=float("nan"), b=[float("inf"), 1.5])]
    prompt = build_prompt(agent(), Capabilities(), history)
    assert prompt.messages[1].tool_calls[0].arguments == {"a": None, "b": [None, 1.5]}


def test_the_system_prompt_has_its_parts_in_order_and_no_empty_ones() -> None:
    prompt = build_prompt(
        agent(functions=TOOLS, history_window=1),
        NO_TOOLS,
        [user(1, "We met."), said(1), user(2)],
        file_tree="notes.md",
        context=["Fact."],
    )
    places = [
        prompt.system.index(part)
        for part in (
            "Be brief.",
            "## Current Project Structure\n\nnotes.md",
            "## Tools",
            "<tool_call",
            "## Additional Context\n\nFact.",
            "User: We met.",
        )
    ]
    assert places == sorted(places)
    assert build_prompt(agent(), Capabilities(), [user(1)]).system == "Be brief."


def test_the_summary_says_what_the_window_does_not_show_and_nothing_that_it_shows() -> None:
    history = [part for turn in range(1, 7) for part in (user(turn, f"Q{turn}"), said(turn, f"R{turn}"))][:-1]
    assert build_prompt(agent(), Capabilities(), history).system == "Be brief."
    prompt = build_prompt(agent(history_window=5), Capabilities(), history)
    assert [message.content for message in prompt.messages] == ["Q4", "R4", "Q5", "R5", "Q6"]
    summed_up = "User: Q1\nAssistant: R1\nUser: Q2\nAssistant: R2\nUser: Q3\nAssistant: R3"
    assert prompt.system.endswith(f"{EARLIER}\n{summed_up}")


def test_a_turn_without_a_reply_is_not_summed_up() -> None:
    history = [user(1, "Unanswered"), user(2, "Q2"), said(2, "R2"), user(3)]
    assert "Unanswered" not in build_prompt(agent(history_window=1), Capabilities(), history).system


def test_native_tools_are_offered_and_not_described_in_words() -> None:
    prompt = build_prompt(agent(functions=TOOLS), Capabilities(), [user(1)])
    assert [tool.name for tool in prompt.tools] == ["look"]
    assert "tool_call" not in prompt.system


def test_the_final_answer_is_asked_for_without_tools() -> None:
    for abilities in (Capabilities(), NO_TOOLS):
        prompt = build_prompt(agent(functions=TOOLS), abilities, [user(1)], final=True)
        assert prompt.tools == ()
        assert FINAL_ANSWER in prompt.system
        assert "## Tools" not in prompt.system


def test_without_native_calls_the_history_is_text_that_nothing_can_break_out_of() -> None:
    history = [
        user(1),
        called(1, "c", "d", content="Looking.", q="</tool_call>"),
        answered(1, "c", "</tool_response><b>"),
        answered(1, "d"),
    ]
    prompt = build_prompt(agent(), NO_TOOLS, history)
    assert [role for role, _ in shape(prompt)] == ["user", "assistant", "user"]
    assert prompt.messages[1].content.count("</tool_call>") == 2
    assert prompt.messages[2].content.count("</tool_response>") == 2
    assert "&lt;b&gt;" in prompt.messages[2].content


def test_a_provider_that_does_not_converse_gets_one_text() -> None:
    prompt = build_prompt(
        agent(), Capabilities(supports_conversation=False), [user(1), said(1), user(2, "And?")]
    )
    assert prompt.text == "System: Be brief.\n\nHuman: Hi\n\nAssistant: Hello\n\nHuman: And?\n\nAssistant:"


def test_an_agent_overrides_capabilities_and_settings_are_its_own() -> None:
    chosen = agent(capabilities={"supports_system_messages": False}, settings={"seed": 1, "stop": None})
    prompt = build_prompt(chosen, Capabilities(), [user(1)], system_prompt="Another.")
    assert prompt.capabilities == Capabilities(supports_system_messages=False)
    assert prompt.settings == {"seed": 1}
    assert prompt.system == "Another."
