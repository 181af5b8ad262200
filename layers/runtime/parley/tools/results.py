"""What a function returned, made fit to be stored as JSON and sent to a model.

Nothing here raises: whatever cannot be kept is replaced by words that say so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Set
from dataclasses import asdict, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic import BaseModel

LONGEST_CONTENT = 100_000
"""Characters. More than that fills a model's context and helps nobody."""

LARGEST_DATA = 262_144
"""Bytes of JSON: what a page can show, the same on both backends."""

DEEPEST = 32


def clean_content(content: str) -> str:
    """Valid Unicode of at most ``LONGEST_CONTENT`` characters; what was cut is said."""
    text = _clean_text(content)
    if len(text) <= LONGEST_CONTENT:
        return text
    return f"{text[:LONGEST_CONTENT]}\n[cut here: {len(text) - LONGEST_CONTENT} more characters]"


def clean_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data as JSON values: NaN and infinities become null, unknown kinds their text or their kind."""
    cleaned = _clean(data, DEEPEST)
    size = len(json.dumps(cleaned, ensure_ascii=False).encode())
    if size > LARGEST_DATA:
        return {"omitted": f"the data was {size} bytes, more than the {LARGEST_DATA} that can be kept"}
    return cleaned if isinstance(cleaned, dict) else {"value": cleaned}


def _clean(value: Any, depth: int) -> Any:
    if depth == 0 and not isinstance(value, str | int | float | bool | None):
        return "[nested too deep]"
    match value:
        case str() if not isinstance(value, Enum):
            return _clean_text(value)
        case None | bool() | int() if not isinstance(value, Enum):
            return value
        case float() if not isinstance(value, Enum):
            return float(value) if math.isfinite(value) else None
        case Mapping():
            return {_key(key): _clean(part, depth - 1) for key, part in list(value.items())}
        case list() | tuple():
            return [_clean(part, depth - 1) for part in value]
        case _:
            return _clean_object(value, depth)


def _clean_object(value: Any, depth: int) -> Any:
    match value:
        case Enum():
            return _clean(value.value, depth)
        case Decimal() | UUID():
            return str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case BaseModel():
            return _clean(value.model_dump(), depth)
        case Set():
            return sorted((_clean(part, depth - 1) for part in value), key=str)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _clean(asdict(value), depth)
        case _:
            return f"[{type(value).__name__}]"


def _key(key: Any) -> str:
    return _clean_text(key if isinstance(key, str) else str(key))


def _clean_text(text: str) -> str:
    """Pairs of surrogates joined, lone ones replaced: UTF-8 has no room for them."""
    if text.isascii():
        return str(text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
