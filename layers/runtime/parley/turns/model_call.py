"""One request to a provider, its reply streamed, and what it took told to the meter."""

from __future__ import annotations

import time
from collections.abc import Callable

from parley.domain.errors import ProviderError
from parley.prompts.prompt import Prompt
from parley.turns.rollout_ports import ModelCall, Outcome
from parley.turns.runtime import Runtime
from parley.turns.streaming import ReplyDraft, Streamer, run_stream


def ask(runtime: Runtime, prompt: Prompt, streamer: Streamer, may_go_on: Callable[[], bool]) -> ReplyDraft:
    """The whole reply; see ``run_stream`` for what is raised. Measured with a clock that tests do not move."""
    begun = time.monotonic()
    outcome: Outcome = "interrupted"
    failure: str | None = None
    try:
        stream = runtime.providers.get(prompt.provider).stream(prompt)
        draft = run_stream(stream, streamer, runtime.settings, may_go_on)
        outcome = "answered"
        return draft
    except ProviderError as error:
        outcome, failure = "failed", type(error).__name__
        raise
    finally:
        finish = streamer.draft.finish
        runtime.meter.model_call(
            ModelCall(
                provider=prompt.provider,
                model=prompt.model,
                form=prompt.form,
                seconds=time.monotonic() - begun,
                outcome=outcome,
                failure=failure,
                usage=finish.usage if finish else None,
            )
        )
