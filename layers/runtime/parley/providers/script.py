"""``settings.script`` of the scripted provider: what each model call of a thread answers.

A list of steps, each an object of ``Step``'s fields::

    [{"text": "Hello!"},
     {"tool_calls": [{"name": "issueRefund", "arguments": {"order_id": "A-1001"}}]},
     {"error": {"type": "ProviderRateLimited", "retry_after": 2, "times": 1}, "text": "At last."},
     {"when": "weather", "text": "Sunny.", "delay": 0.5, "cut": true},
     {"purpose": "suggestions", "text": "[{\"label\": \"More\", \"message\": \"Tell me more\"}]"}]

Which step answers a call follows from the prompt alone:

- Steps whose ``when`` (a substring, case ignored) is in the last user message come first, in order: the first
  model call of that turn takes the first of them, the call after its tool results the second, and so on.
- If there are none, the steps without ``when`` answer the thread's calls in order, counted by the assistant's
  messages that the prompt shows. A turn that failed or was cancelled before its reply counts as one more.
  The count stops growing where the history window cuts: keep such a script within it, or use ``when``.
- Past the last step the ordinary rules of the demo answer.
- Steps with a ``purpose`` answer what is asked beside the conversation: ``predefined`` writes a predefined
  message's content, ``suggestions`` what to do next. The first whose ``when`` is in the question (the predefined
  message's prompt, or what was said in the turn) answers, else the first without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from parley.domain import errors
from parley.domain.errors import ProviderError, ProviderRejectedRequest
from parley.domain.faults import faults_in, refuse_unknown
from parley.prompts.prompt import Prompt, PromptMessage, Purpose
from parley.prompts.suggestions import INSTRUCTION

ErrorName = Literal[
    "ProviderRateLimited",
    "ProviderOverloaded",
    "ProviderUnavailable",
    "ProviderTimeout",
    "StreamCut",
    "ProviderRejectedRequest",
    "ProviderUnauthorized",
    "ProviderQuotaExceeded",
    "ProviderNotConfigured",
]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _fields_are_known(cls, given: Any) -> Any:
        if isinstance(given, dict):
            refuse_unknown(given, cls.model_fields)
        return given


class ScriptedCall(_Part):
    """A tool call. ``arguments`` as text are streamed as they are, even if they are no JSON."""

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)


class ScriptedError(_Part):
    """An error, raised after ``after`` streamed pieces.

    ``times``: how often, for prompts that are alike, in this process; then the step goes through.
    None: always.
    """

    type: ErrorName
    message: str = "an error that the script asked for"
    retry_after: float | None = None
    after: int = Field(default=0, ge=0)
    times: int | None = Field(default=None, ge=1)

    def make(self) -> ProviderError:
        """The error itself."""
        error_class: type[ProviderError] = getattr(errors, self.type)
        return error_class(self.message, retry_after=self.retry_after)


class Step(_Part):
    """The answer to one model call: text, then tool calls, then the end.

    ``chunks`` are the exact pieces of text, in place of ``text`` word by word. ``delay``: seconds before the
    first piece; ``chunk_delay``: between pieces. ``cut``: the stream ends with no terminal event.
    """

    when: str | None = None
    purpose: Purpose = "reply"
    text: str = ""
    chunks: tuple[str, ...] | None = None
    tool_calls: tuple[ScriptedCall, ...] = ()
    error: ScriptedError | None = None
    delay: float = Field(default=0.0, ge=0.0)
    chunk_delay: float | None = Field(default=None, ge=0.0)
    cut: bool = False
    finish_reason: Literal["stop", "length", "tool_calls", "content_filter"] | None = None

    @field_validator("error", mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        return {"type": value} if isinstance(value, str) else value


_PLACE = ("settings", "script")
_STEPS = TypeAdapter(tuple[Step, ...])


def read_script(settings: Mapping[str, Any]) -> tuple[Step, ...]:
    """The steps in an agent's settings; none if there is no script. Raises ProviderRejectedRequest."""
    try:
        return _STEPS.validate_python(settings.get("script") or ())
    except ValidationError as error:
        faults = [{**fault, "loc": (*_PLACE, *fault["loc"])} for fault in error.errors(include_url=False)]
        raise ProviderRejectedRequest(faults_in(faults, {"settings": settings}, {})) from None


def choose_step(steps: Sequence[Step], prompt: Prompt) -> Step | None:
    """The step that answers this prompt, or None."""
    messages = prompt.messages
    steps = [step for step in steps if step.purpose == prompt.purpose]
    if prompt.purpose != "reply":
        return _choose_aside(steps, "\n".join(message.content for message in messages))
    start = max((place for place, message in enumerate(messages) if _is_person(message)), default=0)
    said = messages[start].content.lower() if messages else ""
    in_turn = sum(message.role == "assistant" for message in messages[start:])
    matching = [step for step in steps if step.when is not None and step.when.lower() in said]
    if matching:
        return matching[in_turn] if in_turn < len(matching) else None
    sequence = [step for step in steps if step.when is None]
    place = _calls_before(messages[:start]) + in_turn
    return sequence[place] if place < len(sequence) else None


def _choose_aside(steps: Sequence[Step], question: str) -> Step | None:
    said = question.removesuffix(INSTRUCTION).lower()
    matching = [step for step in steps if step.when is not None and step.when.lower() in said]
    return next(iter(matching or [step for step in steps if step.when is None]), None)


def _is_person(message: PromptMessage) -> bool:
    return message.role == "user" and not message.internal


def _calls_before(messages: Sequence[PromptMessage]) -> int:
    """Model calls of earlier turns, as far as they show."""
    calls = 0
    for place, message in enumerate(messages):
        calls += message.role == "assistant"
        ends_turn = place + 1 == len(messages) or _is_person(messages[place + 1])
        answered = message.role == "assistant" and not message.tool_calls
        calls += ends_turn and not answered
    return calls
