"""The provider ``scripted``, model ``demo``: keyless, deterministic, streaming word by word.

It sees what any provider sees, the prompt, and answers by the steps of ``settings.script`` (see ``script``)
or else by plain rules (see ``demo_rules``). ``settings.delay``: seconds between words, none by default.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from parley.domain.agents import Capabilities
from parley.domain.errors import ProviderError, ProviderRejectedRequest
from parley.domain.messages import Usage
from parley.prompts.prompt import Prompt
from parley.providers.demo_rules import answer
from parley.providers.script import ScriptedCall, ScriptedError, Step, choose_step, read_script
from parley.providers.scripted_image import picture
from parley.turns.model_ports import (
    Delta,
    Finish,
    Image,
    ImageOptions,
    Moderated,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallStart,
)

_WORDS = re.compile(r"\s*\S+\s*|\s+")
_LONGEST_PIECE = 2000
_REMEMBERED = 10_000


class ScriptedProvider:
    """Implements the Provider port. ``sleep`` takes seconds."""

    name = "scripted"

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self._sleep = sleep
        self._lock = threading.Lock()
        self._raised: Counter[str] = Counter()

    def capabilities(self) -> Capabilities:
        """All that the defaults say: conversation, system messages, native tool calls."""
        return Capabilities()

    def is_configured(self) -> bool:
        """It needs nothing."""
        return True

    def check_settings(self, settings: Mapping[str, Any]) -> None:
        """See the port Providers."""
        read_script(settings)
        _delay(settings)

    def moderate(self, text: str) -> Moderated:
        """Flags what says so itself, for tests and demonstrations: a text with the word ``[flagged]`` in it."""
        flagged = "[flagged]" in text
        return Moderated(flagged, ("demonstration",) if flagged else ())

    def imagine(self, prompt: str, options: ImageOptions) -> Image:
        """A plain colour, the same for the same prompt, whatever the options."""
        return picture(prompt)

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        """See the port."""
        try:
            step = choose_step(read_script(prompt.settings), prompt)
            if step is None:
                reply = answer(prompt)
                calls = tuple(ScriptedCall(name=name, arguments=given) for name, given in reply.calls)
                step = Step(text=reply.text, tool_calls=calls)
            yield from self._play(step, prompt)
        except ProviderError as error:
            message = f"{self.name}: {error.message}"
            raise type(error)(message, provider=self.name, retry_after=error.retry_after) from None

    def _play(self, step: Step, prompt: Prompt) -> Iterator[Delta]:
        pause = step.chunk_delay if step.chunk_delay is not None else _delay(prompt.settings)
        failure = self._due(step.error, prompt)
        if step.delay:
            self._sleep(step.delay)
        count = 0
        for count, delta in enumerate(_pieces(step), start=1):
            if failure is not None and count > failure.after:
                raise failure.make()
            if pause and count > 1:
                self._sleep(pause)
            yield delta
        if failure is not None:
            raise failure.make()
        if not step.cut:
            reason = step.finish_reason or ("tool_calls" if step.tool_calls else "stop")
            yield Finish(reason, Usage(input_tokens=_words_of(prompt), output_tokens=count))

    def _due(self, error: ScriptedError | None, prompt: Prompt) -> ScriptedError | None:
        """The step's error, unless it was raised often enough for this prompt."""
        if error is None or error.times is None:
            return error
        digest = hashlib.sha256(prompt.model_dump_json().encode("utf-8", "replace")).hexdigest()
        with self._lock:
            if self._raised[digest] >= error.times:
                return None
            if len(self._raised) > _REMEMBERED:
                self._raised.clear()
            self._raised[digest] += 1
        return error


def _pieces(step: Step) -> Iterator[TextDelta | ToolCallStart | ToolArgumentsDelta]:
    chunks = step.chunks if step.chunks is not None else _split(step.text)
    for chunk in chunks:
        yield TextDelta(chunk)
    for index, call in enumerate(step.tool_calls):
        yield ToolCallStart(index, call.name, f"scripted_{index}")
        given = call.arguments
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        for part in _split(text):
            yield ToolArgumentsDelta(index, part)


def _split(text: str) -> Iterator[str]:
    for match in _WORDS.finditer(text):
        word = match.group()
        for start in range(0, len(word), _LONGEST_PIECE):
            yield word[start : start + _LONGEST_PIECE]


def _delay(settings: Mapping[str, Any]) -> float:
    delay = settings.get("delay") or 0
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay <= 60:
        raise ProviderRejectedRequest("settings.delay: must be seconds between 0 and 60")
    return float(delay)


def _words_of(prompt: Prompt) -> int:
    return len(prompt.system.split()) + sum(len(message.content.split()) for message in prompt.messages)
