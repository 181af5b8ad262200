"""Model providers that die with whoever calls them, and the socket that paces them: one delta, one event.

A model streams from a thread of its own. So that a death falls on the same call each time, the next delta comes
only when the event of the last one has been pushed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from parley.prompts.prompt import Prompt
from parley.turns.model_ports import Delta, Finish, TextDelta, ToolArgumentsDelta
from tests.support.mortal import Fate, Worker
from tests.support.waiting import PATIENCE

READER = "model-stream"
MARK = "[large]"
"""What a script says where it means ``LARGE``: an agent may not be so large itself."""
LARGE = "€𝄞" * 60_000
"""420,000 bytes: more than an item, a state's payload or a frame holds."""


class MortalPusher:
    """A Pusher that hands frames to ``deliver`` and keeps them. ``posted`` counts those that went through."""

    def __init__(
        self, deliver: Callable[[str, str], None], frames: list[tuple[str, str]], fate: Fate
    ) -> None:
        self.posted = 0
        self.frames = frames
        self._deliver = deliver
        self._fate = fate

    def post(self, connection_id: str, frame: str) -> None:
        self._fate.call("pusher", "post", lambda: self._send(connection_id, frame))
        with self._fate.changed:
            self.posted += 1
            self._fate.changed.notify_all()

    def _send(self, connection_id: str, frame: str) -> None:
        self.frames.append((connection_id, frame))
        self._deliver(connection_id, frame)

    def wait_for(self, posted: int, worker: Worker) -> None:
        """Until so many frames went through, or nobody lives to send them."""
        fate = self._fate
        with fate.changed:
            paced = fate.changed.wait_for(
                lambda: self.posted >= posted or fate.dead or worker.dead, timeout=PATIENCE
            )
        assert paced, "a delta had no event"


class MortalProviders:
    """Providers whose requests, and every piece of whose answers, are calls of the worker's."""

    def __init__(self, inner: Any, fate: Fate, pusher: MortalPusher) -> None:
        self._inner = inner
        self._fate = fate
        self._pusher = pusher

    def get(self, name: str) -> Any:
        return MortalProvider(self._inner.get(name), self._fate, self._pusher)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class MortalProvider:
    """One Provider."""

    def __init__(self, inner: Any, fate: Fate, pusher: MortalPusher) -> None:
        self._inner = inner
        self._fate = fate
        self._pusher = pusher

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        answer = self._fate.call("provider", "ask", lambda: self._inner.stream(prompt))
        return self._deltas(_coarse(answer), self._fate.current())

    def _deltas(self, answer: Iterator[Delta], worker: Worker) -> Iterator[Delta]:
        paced = threading.current_thread().name == READER
        pushed = self._pusher.posted
        while True:
            delta = self._fate.call("provider", "delta", lambda: next(answer, None), worker)
            if delta is None:
                return
            yield _grown(delta)
            pushed += 1
            if paced and not isinstance(delta, Finish):
                self._pusher.wait_for(pushed, worker)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _coarse(answer: Iterator[Delta]) -> Iterator[Delta]:
    """A call's arguments in one piece: a script sends them word by word."""
    gathered: list[ToolArgumentsDelta] = []
    for delta in answer:
        if isinstance(delta, ToolArgumentsDelta) and (not gathered or gathered[0].index == delta.index):
            gathered.append(delta)
            continue
        yield from _joined(gathered)
        gathered = [delta] if isinstance(delta, ToolArgumentsDelta) else []
        if not gathered:
            yield delta
    yield from _joined(gathered)


def _joined(parts: list[ToolArgumentsDelta]) -> Iterator[Delta]:
    if parts:
        yield ToolArgumentsDelta(parts[0].index, "".join(part.text for part in parts))


def _grown(delta: Delta) -> Delta:
    match delta:
        case TextDelta(text):
            return TextDelta(text.replace(MARK, LARGE))
        case ToolArgumentsDelta(index, text):
            return ToolArgumentsDelta(index, text.replace(MARK, LARGE))
        case _:
            return delta
