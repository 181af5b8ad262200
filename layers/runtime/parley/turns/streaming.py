"""One model call's stream: read by a thread of its own, coalesced, logged and pushed, fenced once a second.

The reader only reads, so text that arrives while an append is in flight joins the next one, and neither a silent
provider nor a slow store hides the other.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, assert_never

from parley.domain import keys
from parley.domain.errors import StaleRun, StreamCut
from parley.domain.events import EventName, NewEvent
from parley.domain.json_text import read_json
from parley.domain.messages import ToolCall
from parley.turns.event_log import EventLog
from parley.turns.model_ports import (
    Delta,
    Finish,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallEnd,
    ToolCallStart,
)
from parley.turns.runtime import Settings
from parley.turns.task import Scope


class Interrupted(Exception):
    """The fence said stop."""


@dataclass(slots=True)
class CallDraft:
    """A tool call while its arguments arrive."""

    start: ToolCallStart
    parts: list[str] = field(default_factory=list)
    error: str | None = None


@dataclass(slots=True)
class ReplyDraft:
    """A reply while it arrives."""

    text: list[str] = field(default_factory=list)
    calls: dict[int, CallDraft] = field(default_factory=dict)
    finish: Finish | None = None

    def take(self, delta: Delta) -> None:
        """Add what arrived."""
        match delta:
            case TextDelta(text):
                self.text.append(text)
            case ToolCallStart():
                self.calls[delta.index] = CallDraft(delta)
            case ToolArgumentsDelta(index, text):
                self.calls[index].parts.append(text)
            case ToolCallEnd(index, arguments, error):
                self.calls[index].parts, self.calls[index].error = [arguments], error
            case Finish():
                self.finish = delta
            case _ as never:
                assert_never(never)

    def tool_calls(self, thread_id: str, turn: int, step: int) -> tuple[ToolCall, ...]:
        """The calls with our own ids, in the order in which they began."""
        return tuple(
            _tool_call(draft, keys.tool_call_id_for(thread_id, turn, step, place))
            for place, draft in enumerate(self.calls.values())
        )


def _tool_call(draft: CallDraft, tool_call_id: str) -> ToolCall:
    text = "".join(draft.parts).strip()
    arguments: Any = {}
    error = draft.error
    try:
        arguments = read_json(text) if text and error is None else {}
        if not isinstance(arguments, dict):
            error, arguments = f"the arguments must be a JSON object, not {type(arguments).__name__}", {}
    except ValueError as broken:
        error = f"the arguments are not valid JSON ({broken})"
    return ToolCall(
        tool_call_id=tool_call_id,
        name=draft.start.name,
        arguments=arguments,
        arguments_error=error,
        provider_call_id=draft.start.provider_call_id,
        metadata=draft.start.metadata,
    )


class Streamer:
    """Turns a provider's deltas into events of one model call."""

    def __init__(self, log: EventLog, scope: Scope, message_id: str, attempt: int, step: int) -> None:
        self._log = log
        self._scope = scope
        self._message_id = message_id
        self._attempt = attempt
        self._step = step
        self._offset = 0
        self._waiting: list[NewEvent] = []
        self.draft = ReplyDraft()

    def take(self, delta: Delta) -> None:
        """Add a delta to the reply and to the events that wait for the next flush."""
        self.draft.take(delta)
        match delta:
            case TextDelta(text):
                self._text(text)
            case ToolCallStart(index, name):
                call_id = self._call_id(index)
                event_id = f"{self._message_id}:{self._attempt}:{call_id}:generation"
                self._add(EventName.FunctionGenerationStart, event_id, tool_call_id=call_id, name=name)
            case ToolArgumentsDelta(index, text):
                self._arguments(self._call_id(index), text)
            case ToolCallEnd() | Finish():
                pass  # the ToolCall event says it
            case _ as never:
                assert_never(never)

    @property
    def pending(self) -> bool:
        """Whether something waits for a flush."""
        return bool(self._waiting)

    def begin(self) -> None:
        """Tell clients to drop what a former try has said, if it has said anything."""
        self._log.append_made(self._after_others)

    def flush(self) -> None:
        """Log and push what waits. Raises StaleRun if a later try of this call has begun to speak."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._log.append_made(lambda: [*self._after_others(), *waiting])

    def _after_others(self) -> list[NewEvent]:
        """What has to stand between another try's pieces and this one's."""
        spoken = self._log.speaks(self._message_id)
        if spoken > self._attempt or self._log.knows(message_end_id(self._message_id)):
            raise StaleRun("another try of this model call speaks for it")
        return (
            [reset_event(self._scope, self._message_id, self._attempt)] if 0 < spoken < self._attempt else []
        )

    def _call_id(self, index: int) -> str:
        place = list(self.draft.calls).index(index)
        return keys.tool_call_id_for(self._scope.thread_id, self._scope.turn, self._step, place)

    def _text(self, text: str) -> None:
        last = self._waiting[-1] if self._waiting else None
        if last is not None and last.event is EventName.StreamMessageChunk:
            last.data["text"] += text
        else:
            self._add(
                EventName.StreamMessageChunk, None, attempt=self._attempt, offset=self._offset, text=text
            )
        self._offset += len(text)

    def _arguments(self, call_id: str, text: str) -> None:
        for waiting in self._waiting:
            if waiting.event is EventName.FunctionArgumentsChunk and waiting.data["tool_call_id"] == call_id:
                waiting.data["text"] += text
                return
        self._add(EventName.FunctionArgumentsChunk, None, tool_call_id=call_id, text=text)

    def _add(self, name: EventName, event_id: str | None, /, **data: Any) -> None:
        self._waiting.append(self._scope.event(name, event_id, message_id=self._message_id, **data))


def message_end_id(message_id: str) -> str:
    """The ``event_id`` of a message's MessageEnd."""
    return f"{message_id}:end"


def reset_event(scope: Scope, message_id: str, attempt: int) -> NewEvent:
    """What clients have of this message so far is void; ``attempt`` begins it again."""
    event_id = f"{message_id}:{attempt}:reset"
    return scope.event(EventName.MessageReset, event_id, message_id=message_id, attempt=attempt)


END = object()


def _read(stream: Iterator[Delta], arrived: queue.SimpleQueue[Any], stop: threading.Event) -> None:
    """The reader thread: everything that the provider sends, then its end or its error."""
    try:
        for delta in stream:
            arrived.put(delta)
            if stop.is_set():
                break
    except BaseException as error:  # noqa: BLE001 - handed over to the task, which raises it
        arrived.put(error)
    else:
        arrived.put(END)
    finally:
        close = getattr(stream, "close", None)
        if close:
            close()


@contextmanager
def reading(stream: Iterator[Delta]) -> Iterator[queue.SimpleQueue[Any]]:
    """What a thread of its own reads from the stream: deltas, then ``END`` or an exception. Left, it is closed."""
    arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_read, args=(stream, arrived, stop), name="model-stream", daemon=True).start()
    try:
        yield arrived
    finally:
        stop.set()


def run_stream(
    stream: Iterator[Delta], streamer: Streamer, settings: Settings, may_go_on: Callable[[], bool]
) -> ReplyDraft:
    """Take the whole stream. Raises what the provider raised, StreamCut without a Finish, Interrupted by the fence."""
    with reading(stream) as arrived:
        _consume(arrived, streamer, settings, may_go_on)
    if streamer.draft.finish is None:
        raise StreamCut("The model's reply broke off before its end.")
    return streamer.draft


def _consume(
    arrived: queue.SimpleQueue[Any], streamer: Streamer, settings: Settings, may_go_on: Callable[[], bool]
) -> None:
    flush_at = time.monotonic()
    fence_at = flush_at + settings.fence_seconds
    while True:
        now = time.monotonic()
        if now >= fence_at:
            if not may_go_on():
                raise Interrupted
            fence_at = now + settings.fence_seconds
        try:
            delta = arrived.get(
                timeout=max(0.0, min(flush_at if streamer.pending else fence_at, fence_at) - now)
            )
        except queue.Empty:
            delta = None
        if isinstance(delta, BaseException):
            raise delta
        if delta is END:
            streamer.flush()
            return
        if delta is not None:
            streamer.take(delta)
        if streamer.pending and time.monotonic() >= flush_at:
            streamer.flush()
            flush_at = time.monotonic() + settings.chunk_seconds
