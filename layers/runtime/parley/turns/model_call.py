"""One request to a provider, its reply streamed or gathered, and what it took told to the meter."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from parley.domain.errors import ProviderError, ProviderRejectedRequest, ProviderTimeout, StreamCut
from parley.prompts.prompt import Prompt
from parley.turns.rollout_ports import ModelCall, Outcome
from parley.turns.runtime import Runtime
from parley.turns.streaming import END, Interrupted, ReplyDraft, Streamer, reading, run_stream

LOOK_SECONDS = 0.25
"""How often it is asked, at most, whether an answer that nobody watches is still wanted."""


def ask(runtime: Runtime, prompt: Prompt, streamer: Streamer, may_go_on: Callable[[], bool]) -> ReplyDraft:
    """The whole reply; see ``run_stream`` for what is raised."""
    with _counted(runtime, prompt, streamer.draft):
        stream = runtime.providers.get(prompt.provider).stream(prompt)
        return run_stream(stream, streamer, runtime.settings, may_go_on)


def write(runtime: Runtime, prompt: Prompt, may_go_on: Callable[[], bool]) -> str:
    """The text of an answer that is gathered, not shown: tried once, within ``settings.aside_seconds`` in all.

    A model that does not know how to keep to the prompt's schema is asked again without it.
    Raises ProviderError (ProviderTimeout: too slow), and Interrupted once ``may_go_on`` says no.
    """
    until = time.monotonic() + runtime.settings.aside_seconds
    try:
        return _gathered(runtime, prompt, may_go_on, until)
    except ProviderRejectedRequest:
        if prompt.response_schema is None:
            raise
    return _gathered(runtime, prompt.but(response_schema=None), may_go_on, until)


def _gathered(runtime: Runtime, prompt: Prompt, may_go_on: Callable[[], bool], until: float) -> str:
    draft = ReplyDraft()
    pause = min(LOOK_SECONDS, runtime.settings.fence_seconds)
    with (
        _counted(runtime, prompt, draft),
        reading(runtime.providers.get(prompt.provider).stream(prompt)) as arrived,
    ):
        look_at = time.monotonic() + pause
        while (delta := _next(arrived, min(look_at, until))) is not END:
            now = time.monotonic()
            if isinstance(delta, BaseException):
                raise delta
            if delta is not None:
                draft.take(delta)
            if now >= until:
                raise ProviderTimeout("the model took too long")
            if now >= look_at:
                if not may_go_on():
                    raise Interrupted
                look_at = now + pause
        if draft.finish is None:
            raise StreamCut("The model's reply broke off before its end.")
    return "".join(draft.text).strip()


def _next(arrived: queue.SimpleQueue[Any], until: float) -> Any:
    """What the reader put next; None if there was nothing until then."""
    try:
        return arrived.get(timeout=max(0.0, until - time.monotonic()))
    except queue.Empty:
        return None


@contextmanager
def _counted(runtime: Runtime, prompt: Prompt, draft: ReplyDraft) -> Iterator[None]:
    """Counts what happens inside as one call. Measured with a clock that tests do not move."""
    begun = time.monotonic()
    outcome: Outcome = "interrupted"
    failure: str | None = None
    try:
        yield
        outcome = "answered"
    except ProviderError as error:
        outcome, failure = "failed", type(error).__name__
        raise
    finally:
        finish = draft.finish
        runtime.meter.model_call(
            ModelCall(
                provider=prompt.provider,
                model=prompt.model,
                form=prompt.form,
                purpose=prompt.purpose,
                seconds=time.monotonic() - begun,
                outcome=outcome,
                failure=failure,
                usage=finish.usage if finish else None,
            )
        )
