"""Reading JSON that somebody else wrote: what has another kind than expected counts as not there."""

from __future__ import annotations

import math
from typing import Any


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_count(value: Any) -> int:
    """The value if it is a number that counts something, else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, int(value))
