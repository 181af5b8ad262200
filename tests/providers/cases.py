"""The cases that every wire has to get right, whatever its bytes look like.

A wire's samples (``samples_*.py``) give the bytes for each case; the table says what has to come of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from parley.domain.errors import (
    ProviderError,
    ProviderOverloaded,
    ProviderQuotaExceeded,
    ProviderRateLimited,
    ProviderRejectedRequest,
    ProviderUnauthorized,
    ProviderUnavailable,
    StreamCut,
)
from tests.support.replies import Reply

SERVER = "http://server.example"
"""In an answer's body: the address at which the test's server listens."""


@dataclass(frozen=True)
class Sample:
    """A provider's answer. ``label`` says where the bytes come from: "recorded" or "hand-built".

    ``before``: answers to the requests that come first, where a reply takes several.
    """

    label: str
    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    abrupt: bool = False
    before: tuple["Sample", ...] = ()


def _says(text: str, reason: str = "stop") -> Callable[[Reply], bool]:
    return lambda reply: (
        reply.text == text and not reply.calls and reply.finish is not None and reply.finish.reason == reason
    )


def _calls(*arguments: object) -> Callable[[Reply], bool]:
    return lambda reply: (
        reply.arguments == list(arguments)
        and reply.finish is not None
        and reply.finish.reason == "tool_calls"
    )


REPLIES: dict[str, Callable[[Reply], bool]] = {
    "text": _says("Hello"),
    "text outside ASCII": _says("Grüße, 世界 🎉"),
    "text cut at the token limit": _says("Hel", "length"),
    "refused by the content filter": _says("", "content_filter"),
    "two calls": _calls({"city": "Paris"}, {"city": "Rome"}),
    "two calls, their arguments interleaved": _calls({"city": "Paris"}, {"city": "Rome"}),
    "a call with empty arguments": _calls({}),
    "text and a call": lambda reply: reply.text == "Let me look." and reply.arguments == [{"city": "Paris"}],
    "noise between the events": _says("Hello"),
    "CRLF line ends": _says("Hello"),
}
"""Case → what the whole reply must be."""

FAILURES: dict[str, tuple[type[ProviderError], float | None]] = {
    "no terminal event": (StreamCut, None),
    "an empty body": (StreamCut, None),
    "the connection breaks in mid-stream": (StreamCut, None),
    "the connection breaks inside a call": (StreamCut, None),
    "an error inside HTTP 200": (StreamCut, None),
    "something that is not JSON": (StreamCut, None),
    "rate limited": (ProviderRateLimited, 1.85),
    "no money left": (ProviderQuotaExceeded, None),
    "wrong key": (ProviderUnauthorized, None),
    "request at fault": (ProviderRejectedRequest, None),
    "server error": (ProviderUnavailable, None),
    "overloaded": (ProviderOverloaded, None),
    "an error page in HTML": (ProviderUnavailable, None),
}
"""Case → the error and the wait that the provider asks for."""
