"""Answers that are gathered beside a conversation: their limits, and that they are counted like any other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from parley.domain.errors import ProviderRejectedRequest, ProviderTimeout, ProviderUnavailable, StreamCut
from parley.domain.messages import Usage
from parley.prompts.prompt import Prompt, PromptMessage
from parley.turns.model_call import write
from parley.turns.model_ports import Delta, Finish, TextDelta
from parley.turns.rollout_ports import ModelCall
from parley.turns.runtime import Settings
from parley.turns.streaming import Interrupted

PROMPT = Prompt(
    provider="p",
    model="m",
    purpose="suggestions",
    messages=(PromptMessage(role="user", content="What next?"),),
)
END = Finish("stop", Usage(input_tokens=3, output_tokens=2))


class World:
    """A runtime with one provider, which answers each prompt by ``answers``, and a meter that remembers."""

    def __init__(self, answers: Any, seconds: float = 5.0) -> None:
        self.prompts: list[Prompt] = []
        self.calls: list[ModelCall] = []
        self.settings = Settings(aside_seconds=seconds, fence_seconds=0.01)
        self.meter = SimpleNamespace(model_call=self.calls.append)
        self.providers = SimpleNamespace(get=lambda name: SimpleNamespace(stream=self._stream))
        self._answers = answers

    def _stream(self, prompt: Prompt) -> Iterator[Delta]:
        self.prompts.append(prompt)
        yield from self._answers(prompt)

    def write(self, prompt: Prompt = PROMPT, may_go_on: Any = lambda: True) -> str:
        return write(self, prompt, may_go_on)  # type: ignore[arg-type]


def test_the_text_is_gathered_and_the_tokens_are_counted() -> None:
    world = World(lambda prompt: [TextDelta(" one "), TextDelta("two "), END])
    assert world.write() == "one two"
    (call,) = world.calls
    assert (call.purpose, call.outcome, call.usage) == ("suggestions", "answered", END.usage)


def test_a_stream_that_breaks_off_is_a_failure_and_counted_as_one() -> None:
    world = World(lambda prompt: [TextDelta("one ")])
    with pytest.raises(StreamCut):
        world.write()
    assert [(call.outcome, call.failure) for call in world.calls] == [("failed", "StreamCut")]


def silent(released: threading.Event) -> Any:
    def answer(prompt: Prompt) -> Iterator[Delta]:
        released.wait(120)
        yield END

    return answer


def endless(released: threading.Event) -> Any:
    def answer(prompt: Prompt) -> Iterator[Delta]:
        while not released.is_set():
            yield TextDelta("and ")

    return answer


@pytest.mark.parametrize("model", [silent, endless])
def test_a_model_that_does_not_come_to_an_end_is_given_up_in_time(model: Any) -> None:
    released = threading.Event()
    world = World(model(released), seconds=0.1)
    begun = time.monotonic()
    try:
        with pytest.raises(ProviderTimeout):
            world.write()
    finally:
        released.set()
    assert time.monotonic() - begun < 60
    assert world.calls[0].failure == "ProviderTimeout"


@pytest.mark.parametrize("model", [silent, endless])
def test_what_is_no_longer_wanted_is_given_up_at_once(model: Any) -> None:
    released = threading.Event()
    world = World(model(released), seconds=30.0)
    try:
        with pytest.raises(Interrupted):
            world.write(may_go_on=lambda: False)
    finally:
        released.set()
    assert world.calls[0].outcome == "interrupted"


def test_a_model_that_refuses_the_schema_is_asked_without_it() -> None:
    def answer(prompt: Prompt) -> Iterator[Delta]:
        if prompt.response_schema is not None:
            raise ProviderRejectedRequest("response_format is not supported")
        yield from (TextDelta("fine"), END)

    world = World(answer)
    assert world.write(PROMPT.but(response_schema={"type": "object"})) == "fine"
    assert [prompt.response_schema for prompt in world.prompts] == [{"type": "object"}, None]
    assert [call.outcome for call in world.calls] == ["failed", "answered"]


@pytest.mark.parametrize("error", [ProviderRejectedRequest, ProviderUnavailable])
def test_any_other_failure_is_not_tried_again(error: Any) -> None:
    def answer(prompt: Prompt) -> Iterator[Delta]:
        raise error("no")

    world = World(answer)
    with pytest.raises(error):
        world.write()
    assert len(world.prompts) == 1
