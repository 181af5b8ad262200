"""Replies in plain text: where they end, and how the calls in them become deltas."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.domain.agents import Agent, AgentFunction, Capabilities, ClassFunction
from parley.domain.errors import StreamCut
from parley.domain.messages import Message, MessageKind
from parley.prompts.build import build_prompt, merge_capabilities
from parley.prompts.concatenated import STOP_SEQUENCES, SpokenReply, stop_sequences, text_of
from parley.prompts.prompt import Prompt, PromptMessage
from parley.providers.text_replies import TextReplies
from parley.turns.model_ports import (
    Delta,
    Finish,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallEnd,
    ToolCallStart,
)
from tests.support.replies import Reply, collect

ONE_TEXT = Capabilities(supports_conversation=False, supports_tool_calls=False)
CALL = '<tool_call name="f">{"a":1}</tool_call>'


class Says:
    """A provider that says these pieces, or sends these deltas."""

    name = "says"

    def __init__(self, *pieces: str | Delta, reason: str = "stop") -> None:
        self._pieces = pieces
        self._reason = reason
        self.closed = False

    def capabilities(self) -> Capabilities:
        return ONE_TEXT

    def is_configured(self) -> bool:
        return True

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        try:
            for piece in self._pieces:
                yield TextDelta(piece) if isinstance(piece, str) else piece
            yield Finish(self._reason, provider_data={"kept": 1})
        finally:
            self.closed = True


def prompt(*, conversing: bool = False, calls: bool = True, **changes: Any) -> Prompt:
    return Prompt(
        provider="says",
        model="m",
        capabilities=Capabilities() if conversing else ONE_TEXT,
        text=None if conversing else "System: …",
        xml_tools=calls,
        **changes,
    )


def reply_of(*pieces: str | Delta, reason: str = "stop", **form: bool) -> Reply:
    return collect(TextReplies(Says(*pieces, reason=reason)).stream(prompt(**form)))


@pytest.mark.parametrize("stop", STOP_SEQUENCES)
def test_a_reply_is_cut_where_the_model_speaks_for_the_person(stop: str) -> None:
    provider = Says(" Hel", "lo.\n", *stop, " And?\n\nAssistant: …", "never read")
    reply = collect(TextReplies(provider).stream(prompt()))
    assert reply.text == "Hello."
    assert reply.finish == Finish("stop")
    assert provider.closed


def test_words_that_only_begin_like_a_person_are_kept() -> None:
    assert reply_of("\nHi\n\nHum", "ans are\nUse", "rs").text == "Hi\n\nHumans are\nUsers"
    assert reply_of("Hi\n\nHuman").text == "Hi\n\nHuman"
    assert reply_of("Hi Human: you\n").text == "Hi Human: you\n"


def test_a_model_that_converses_is_not_cut() -> None:
    text = "A dialogue:\nHuman: Hi\nUser: Ho"
    assert reply_of(text, conversing=True).text == text


def test_calls_become_calls_and_the_text_around_them_stays() -> None:
    reply = reply_of(f"Let me look.\n\n{CALL}\n", f"{CALL}\n\nDone.\n\n")
    assert reply.text == "Let me look.\n\nDone."
    assert reply.arguments == [{"a": 1}, {"a": 1}]
    assert reply.finish == Finish("tool_calls", provider_data={"kept": 1})


def test_blank_text_beside_calls_is_no_text() -> None:
    assert reply_of(f"\n\n{CALL}\n\n{CALL}\n").text == ""
    assert reply_of(f"{CALL}\n\nDone.").text == "Done."


def test_a_reply_that_makes_up_a_result_ends_before_it() -> None:
    provider = Says(CALL, '\n<tool_response name="f" ok="true">5</tool_response>', "never read")
    reply = collect(TextReplies(provider).stream(prompt(conversing=True)))
    assert (reply.text, len(reply.calls), reply.finish) == ("", 1, Finish("tool_calls"))
    assert provider.closed


def test_a_call_cut_at_the_token_limit_says_so() -> None:
    deltas = list(TextReplies(Says("Hm. ", CALL[:25], reason="length")).stream(prompt()))
    assert deltas[1] == ToolCallStart(0, "f")
    assert deltas[2] == ToolArgumentsDelta(0, '{"a":')
    end = deltas[3]
    assert isinstance(end, ToolCallEnd)
    assert "cut off" in (end.error or "")
    assert isinstance(deltas[-1], Finish)
    assert deltas[-1].reason == "length"


def test_a_call_streams_and_its_end_is_told_only_where_the_pieces_do_not_tell_it() -> None:
    plain = list(TextReplies(Says(*CALL)).stream(prompt()))
    assert [type(delta) for delta in plain[:3]] == [ToolCallStart, ToolArgumentsDelta, ToolArgumentsDelta]
    assert not any(isinstance(delta, ToolCallEnd) for delta in plain)
    escaped = list(TextReplies(Says(*CALL.replace("1", '"&lt;"'))).stream(prompt()))
    assert escaped[-2] == ToolCallEnd(0, '{"a":"<"}')


def test_native_calls_that_nobody_offered_are_counted_along() -> None:
    native = (ToolCallStart(0, "g", "id"), ToolArgumentsDelta(0, '{"b":2}'))
    assert reply_of(CALL, *native, CALL).arguments == [{"a": 1}, {"b": 2}, {"a": 1}]


def test_where_calls_are_native_text_is_text() -> None:
    assert reply_of(CALL, conversing=True, calls=False).text == CALL


def test_an_error_is_passed_on_and_closing_reaches_the_provider() -> None:
    class Breaks(Says):
        def stream(self, prompt: Prompt) -> Iterator[Delta]:
            yield TextDelta("Hel")
            raise StreamCut("broken")

    with pytest.raises(StreamCut):
        collect(TextReplies(Breaks()).stream(prompt()))
    provider = Says("Hello ", "world")
    stream = TextReplies(provider).stream(prompt())
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert provider.closed


@given(st.lists(st.sampled_from(["\n", "Human:", "User:", "Hum", "an:", " ", "a", "Use"]), max_size=12))
def test_a_reply_is_cut_at_the_same_place_in_any_pieces(pieces: list[str]) -> None:
    text = "".join(pieces)
    cut = min((text.find(stop) for stop in STOP_SEQUENCES if stop in text), default=None)
    whole = (text if cut is None else text[:cut].rstrip()).lstrip()
    for size in (1, 2, 100):
        reply = SpokenReply()
        parts = [reply.feed(text[start : start + size]) for start in range(0, len(text), size)]
        assert "".join(parts) + reply.finish() == whole
        assert reply.ended == (cut is not None)


def test_stop_sequences_are_the_agents_own_and_then_ours() -> None:
    assert stop_sequences(prompt(settings={"stop": "END"})) == ["END", *STOP_SEQUENCES]
    assert stop_sequences(prompt(settings={"stop": ["1", "2", "3", "4"]}), 4) == ["1", "2", "3", "4"]
    assert stop_sequences(prompt()) == [*STOP_SEQUENCES]


def test_a_prompt_that_was_not_composed_as_one_text_becomes_one() -> None:
    messages = (PromptMessage(role="user", content="Hi"),)
    asked = prompt(system="Be brief.", messages=messages)
    assert text_of(asked) == "System: …"
    assert text_of(asked.but(text=None)) == "System: Be brief.\n\nHuman: Hi\n\nAssistant:"


def _built(capabilities: Capabilities, *, functions: bool = True, final: bool = False) -> Prompt:
    function = AgentFunction(name="f", implementation=ClassFunction(class_name="f"))
    agent = Agent(agent_id="a", name="A", provider="p", model="m", functions=(function,) if functions else ())
    said = Message(id="u", kind=MessageKind.USER_MESSAGE, role="user", content="Hi", timestamp=0, turn=1)
    return build_prompt(agent, capabilities, [said], final=final)


def test_calls_are_looked_for_where_functions_were_offered_in_text() -> None:
    assert _built(ONE_TEXT).xml_tools
    assert _built(ONE_TEXT, final=True).xml_tools
    assert _built(Capabilities(supports_tool_calls=False)).xml_tools
    assert not _built(Capabilities()).xml_tools
    assert not _built(ONE_TEXT, functions=False).xml_tools


def test_claiming_native_calls_claims_a_conversation() -> None:
    assert merge_capabilities(ONE_TEXT, {"supports_tool_calls": True}).supports_conversation
    refused = {"supports_tool_calls": True, "supports_conversation": False}
    assert not merge_capabilities(ONE_TEXT, refused).supports_conversation
    assert not merge_capabilities(ONE_TEXT, {"supports_tool_calls": False}).supports_conversation


@pytest.mark.parametrize("conversing", [True, False])
def test_an_emoji_that_comes_in_halves_is_whole(conversing: bool) -> None:
    assert reply_of("Hi \ud83d", "\ude00!", conversing=conversing).text == "Hi 😀!"
