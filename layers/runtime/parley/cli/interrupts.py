"""Ctrl-C as a wish that is looked at between two events, not an exception in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self


class Interrupts:
    """While open, the first Ctrl-C is kept for `take`; the second raises KeyboardInterrupt as usual."""

    def __init__(self) -> None:
        self._pending = False
        self._seen = False
        self._main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._main:
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *failure: object) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._before)

    def take(self) -> bool:
        """Whether Ctrl-C was pressed since the last look."""
        pending, self._pending = self._pending, False
        return pending

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Let Ctrl-C raise KeyboardInterrupt: it has to end the waiting for an answer."""
        if not self._main:
            yield
            return
        kept = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, kept)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._seen:
            raise KeyboardInterrupt
        self._pending = self._seen = True
