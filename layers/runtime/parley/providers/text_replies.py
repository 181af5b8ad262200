"""What models that lack something say in plain text, turned into deltas like any other's.

Owns the reading of replies, not of prompts: calls written as XML become tool calls, and a reply to a
concatenated prompt ends where the model begins to speak for the person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from parley.domain.agents import Capabilities
from parley.prompts.concatenated import SpokenReply
from parley.prompts.prompt import Prompt
from parley.prompts.xml_calls import CallBegun, CallPiece, Part, TextCall, TextCalls
from parley.providers.whole_characters import whole_characters
from parley.turns.model_ports import (
    Delta,
    Finish,
    Provider,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallEnd,
    ToolCallStart,
)

_PARAGRAPH = "\n\n"
"""Between the text before a call and the text behind it."""


class TextReplies:
    """A provider whose replies are read with the prompt's form in mind; all else is the provider's own."""

    def __init__(self, provider: Provider) -> None:
        self.name = provider.name
        self._provider = provider

    def capabilities(self) -> Capabilities:
        """The provider's."""
        return self._provider.capabilities()

    def is_configured(self) -> bool:
        """The provider's."""
        return self._provider.is_configured()

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        """The provider's deltas, read as text where the prompt asked for text."""
        deltas = whole_characters(self._provider.stream(prompt))
        if not _spoken(prompt) and not prompt.xml_tools:
            return deltas
        return _read(prompt, deltas)


def _spoken(prompt: Prompt) -> bool:
    """Whether the model was given one text to go on with."""
    return prompt.text is not None or not prompt.capabilities.supports_conversation


def _read(prompt: Prompt, deltas: Iterator[Delta]) -> Iterator[Delta]:
    reply = _Reply(prompt)
    finish: Finish | None = None
    try:
        for delta in deltas:
            match delta:
                case TextDelta(text):
                    yield from reply.text(text)
                case ToolCallStart() | ToolArgumentsDelta() | ToolCallEnd():
                    yield reply.native(delta)
                case Finish():
                    finish = delta
                case _ as never:
                    assert_never(never)
            if reply.ended:
                finish = Finish("stop")
                break
    finally:
        close = getattr(deltas, "close", None)
        if close:
            close()
    if finish is not None:
        yield from reply.finish(finish)


class _Reply:
    """One reply: its calls in one count, and no blank text around them."""

    def __init__(self, prompt: Prompt) -> None:
        self._spoken = SpokenReply() if _spoken(prompt) else None
        self._calls = TextCalls() if prompt.xml_tools else None
        self._count = 0
        self._at = 0
        self._pieces: list[str] = []
        self._native: dict[int, int] = {}
        self._blank = ""
        self._shown = False
        self._behind_call = False

    @property
    def ended(self) -> bool:
        """Whether the model went on to write what is not its own; nothing more counts."""
        return bool((self._spoken and self._spoken.ended) or (self._calls and self._calls.ended))

    def text(self, text: str) -> Iterator[Delta]:
        """More text of the model's."""
        if self._spoken:
            text = self._spoken.feed(text)
        yield from self._parts(self._calls.feed(text) if self._calls else [text])

    def native(self, delta: ToolCallStart | ToolArgumentsDelta | ToolCallEnd) -> Delta:
        """A call that the provider made natively although nobody offered one."""
        if delta.index not in self._native:
            self._native[delta.index] = self._count
            self._count += 1
        return replace(delta, index=self._native[delta.index])

    def finish(self, finish: Finish) -> Iterator[Delta]:
        """What was held back, then the end."""
        yield from self._parts(self._held_back())
        if self._blank and not self._count:
            yield TextDelta(self._blank)
        called = self._count and finish.reason == "stop"
        yield replace(finish, reason="tool_calls") if called else finish

    def _held_back(self) -> Iterator[Part]:
        held = self._spoken.finish() if self._spoken else ""
        if self._calls is None:
            yield held
        else:
            yield from self._calls.feed(held)
            yield from self._calls.finish()

    def _parts(self, parts: Iterable[Part]) -> Iterator[Delta]:
        for part in parts:
            match part:
                case str():
                    yield from self._said(part)
                case CallBegun(name):
                    self._at, self._pieces = self._count, []
                    self._count += 1
                    self._blank, self._behind_call = _PARAGRAPH if self._shown else "", True
                    yield ToolCallStart(self._at, name)
                case CallPiece(text):
                    self._pieces.append(text)
                    yield ToolArgumentsDelta(self._at, text)
                case TextCall(_, arguments, error):
                    if error is not None or arguments != "".join(self._pieces):
                        yield ToolCallEnd(self._at, arguments, error)
                case _ as never:
                    assert_never(never)

    def _said(self, part: str) -> Iterator[Delta]:
        text = self._blank + (part.lstrip() if self._behind_call else part)
        shown = text.rstrip()
        self._blank = text[len(shown) :]
        if shown:
            self._shown, self._behind_call = True, False
            yield TextDelta(shown)
