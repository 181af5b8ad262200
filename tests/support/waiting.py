"""Waiting for what another thread or process does, with a bound."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Real seconds that what has to come may take: only what is broken takes so long, however busy the machine."""


def wait_until(condition: Callable[[], Any], *, timeout: float = PATIENCE, what: str = "") -> Any:
    """The first true value of ``condition``; fails after ``timeout`` real seconds."""
    until = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > until:
            raise TimeoutError(f"not within {timeout} s: {what or condition}")
        time.sleep(0.005)
    return value
