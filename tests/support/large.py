"""A model and a function that make values of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from parley.prompts.prompt import Prompt
from parley.tools.function import Function, FunctionArguments, FunctionResult
from parley.turns.model_ports import (
    Delta,
    Finish,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallStart,
)
from tests.support.models import Model

_PIECE = 20_000


def text_of(size: int) -> str:
    """So many bytes of UTF-8, with characters of one to four bytes."""
    text = ("é☃ 🙂word " * (size // 14 + 1)).encode()[:size]
    whole = text.decode("utf-8", "ignore")
    return whole + "." * (size - len(whole.encode()))


class Keep(Function):
    """Gives back what it is given, as its content and as its data."""

    name: ClassVar[str] = "keep"
    description: ClassVar[str] = "Keeps a text."
    pack: ClassVar[str] = "large"
    confirmation_question: ClassVar[str | None] = "Keep it?"

    class Arguments(FunctionArguments):
        text: str

    def handle(self, arguments: Arguments) -> FunctionResult:
        return FunctionResult(arguments.text, {"text": arguments.text})


class LargeModel(Model):
    """``call N`` calls ``keep`` with N bytes and answers with N more; ``say N`` answers with N bytes; else "Ok."."""

    name = "large"

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        said = max(place for place, message in enumerate(prompt.messages) if message.role == "user")
        what, _, size = prompt.messages[said].content.partition(" ")
        if what == "call" and said == len(prompt.messages) - 1:
            yield ToolCallStart(0, "keep")
            yield ToolArgumentsDelta(0, '{"text":"')
            yield from (ToolArgumentsDelta(0, piece) for piece in _pieces(text_of(int(size))))
            yield ToolArgumentsDelta(0, '"}')
            yield Finish("tool_calls")
            return
        text = text_of(int(size)) if what in ("call", "say") else "Ok."
        yield from (TextDelta(piece) for piece in _pieces(text))
        yield Finish("stop")


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]
