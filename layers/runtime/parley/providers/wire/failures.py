"""From a status, a code and some words to our error classes: what all wires share.

The table of statuses is the retry policy of model calls; see ``domain/errors.py`` for what each class means.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from parley.domain.errors import (
    ProviderError,
    ProviderOverloaded,
    ProviderQuotaExceeded,
    ProviderRateLimited,
    ProviderRejectedRequest,
    ProviderTimeout,
    ProviderUnauthorized,
    ProviderUnavailable,
    StreamCut,
)

QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
OVERLOADED_CODES = frozenset({"overloaded_error", "overloaded", "capacity_exceeded"})
BROKEN_REPLY_CODES = frozenset({"tool_use_failed"})
"""The model wrote a call that the provider could not read: asked again, it may write a better one."""
LONGEST_WORDS = 500
_RENEWED = re.compile(r";\s*r=0\s*;\s*t=(\d{1,6})\b")


def error_for_status(
    status: int, words: str, *, code: str = "", retry_after: float | None = None, overloaded: bool = False
) -> ProviderError:
    """The error of an answer that is not 2xx. ``words`` and ``code`` are the provider's own."""
    message = f"HTTP {status}: {shorten(words) or 'the provider gave no reason'}"
    if code in QUOTA_CODES or status == 402:
        return ProviderQuotaExceeded(message)
    if status in {401, 403}:
        return ProviderUnauthorized(message)
    if code in BROKEN_REPLY_CODES:
        return StreamCut(message, retry_after=retry_after)
    if overloaded or code in OVERLOADED_CODES or status == 529:
        return ProviderOverloaded(message, retry_after=retry_after)
    if status == 429:
        return ProviderRateLimited(message, retry_after=retry_after)
    if status == 408:
        return ProviderTimeout(message, retry_after=retry_after)
    if status >= 500:
        return ProviderUnavailable(message, retry_after=retry_after)
    return ProviderRejectedRequest(message)


def error_in_stream(
    words: str, *, code: str = "", kind: str = "", status: int | None = None
) -> ProviderError:
    """The error that came inside HTTP 200. Worth a retry, unless the provider itself says why it is not."""
    names = {code, kind}
    message = shorten(words) or "the provider broke off without a reason"
    if names & QUOTA_CODES or status == 402:
        return ProviderQuotaExceeded(message)
    if names & BROKEN_REPLY_CODES:
        return StreamCut(message)
    if names & {"invalid_api_key", "authentication_error", "permission_error"} or status in {401, 403}:
        return ProviderUnauthorized(message)
    if names & {"invalid_request_error", "context_length_exceeded"} or status in {400, 404, 413, 422}:
        return ProviderRejectedRequest(message)
    if names & {"rate_limit_exceeded", "rate_limit_error", "too_many_requests"} or status == 429:
        return ProviderRateLimited(message)
    if names & OVERLOADED_CODES or status == 529:
        return ProviderOverloaded(message)
    return StreamCut(message)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the provider asks us to wait, or None. ``retry-after-ms`` is the more exact and wins.

    A date counts from the answer's own ``date`` header, so that our clock does not matter. Without any of
    these, a ``ratelimit`` header (``"api";r=0;t=55``) says when a used-up limit is renewed.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return seconds
    if value is None:
        renewed = _RENEWED.search(headers.get("ratelimit") or "")
        return float(renewed[1]) if renewed else None
    wanted, sent = _date(value), _date(headers.get("date"))
    if wanted is None or sent is None:
        return None
    return max(0.0, (wanted - sent).total_seconds())


def loading_seconds(body: Any) -> float | None:
    """``estimated_time`` of an answer's JSON: how long its model still needs to load."""
    time = body.get("estimated_time") if isinstance(body, dict) else None
    if isinstance(time, bool) or not isinstance(time, int | float):
        return None
    return _number(str(time))


def read_json(body: str) -> Any:
    """The body as JSON, or None if it is not."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def shorten(words: str) -> str:
    """On one line and at most 500 characters: error pages in HTML come too."""
    line = " ".join(words.split())
    return line if len(line) <= LONGEST_WORDS else line[:LONGEST_WORDS] + "…"


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return None if number is None or not math.isfinite(number) else max(0.0, number)


def _date(value: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(value) if value else None
    except ValueError:
        return None
    return date if date is None or date.tzinfo else date.replace(tzinfo=UTC)
