"""The errors of those who speak OpenAI's chat wire: as an answer, and inside a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from parley.domain.errors import ProviderError, ProviderRejectedRequest
from parley.providers.wire.failures import (
    QUOTA_CODES,
    error_for_status,
    error_in_stream,
    loading_seconds,
    read_json,
    retry_after,
    shorten,
)
from parley.providers.wire.shapes import as_object

_BUSY_WORDS = ("overload", "too busy", "loading")


def decode_error(status: int, headers: Mapping[str, str], body: str) -> ProviderError:
    """``{"error": {message, type, code, metadata}}`` or words, ``{"detail"}``, ``{"message"}``, or any text."""
    value = read_json(body)
    fields = as_object(value)
    error = fields.get("error") or fields.get("detail") or fields.get("message") or body
    words, code, kind = _words(error), _code(error), _kind(error)
    if as_object(as_object(error).get("metadata")).get("reasons"):
        # A gateway's moderation says 403, which is no matter of keys.
        return ProviderRejectedRequest(f"HTTP {status}: {shorten(words)}")
    loading = loading_seconds(value)
    busy = status in {429, 503} and any(word in words.lower() for word in _BUSY_WORDS)
    return error_for_status(
        status,
        words,
        code=kind if kind in QUOTA_CODES else code,
        retry_after=retry_after(headers) if loading is None else loading,
        overloaded=busy or loading is not None,
    )


def stream_error(error: Any) -> ProviderError:
    """What a chunk's ``error`` stands for: an object, or words. Its code may be an HTTP status."""
    status = as_object(error).get("code")
    return error_in_stream(
        _words(error),
        code=_code(error),
        kind=_kind(error),
        status=status if isinstance(status, int) else None,
    )


def _words(error: Any) -> str:
    """The message, and behind it what a gateway passes on from the provider that it asked."""
    fields = as_object(error)
    message = fields.get("message") or error
    words = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    metadata = as_object(fields.get("metadata"))
    passed_on = [str(metadata[name]) for name in ("provider_name", "raw") if metadata.get(name)]
    passed_on += [f"reason: {reason}" for reason in metadata.get("reasons") or () if isinstance(reason, str)]
    return f"{words} ({': '.join(passed_on)})" if passed_on else words


def _code(error: Any) -> str:
    return str(as_object(error).get("code") or "")


def _kind(error: Any) -> str:
    return str(as_object(error).get("type") or "")
