"""What a wire module offers. The modules themselves implement it; a provider's row names one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from parley.domain.errors import ProviderError
from parley.prompts.prompt import Prompt
from parley.turns.model_ports import Delta, Image, ImageOptions, Moderated


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The reply goes on in the answer to another request, which the same wire decodes.

    A GET of ``url`` after ``delay`` seconds; nothing follows it in the stream that said so. ``cancel_url`` is
    POSTed to if the reply is given up before its Finish.
    """

    url: str
    accept: str = "application/json"
    delay: float = 0.0
    cancel_url: str | None = None


class Wire(Protocol):
    """One wire format."""

    def path(self, prompt: Prompt) -> str:
        """Where the request goes, behind the provider's base URL."""
        ...

    def encode(self, prompt: Prompt) -> dict[str, Any]:
        """The request's JSON body."""
        ...

    def decode_stream(self, lines: Iterable[str]) -> Iterator[Delta | FollowUp]:
        """The reply's text lines (without line ends) to deltas.

        Ends with Finish, or with FollowUp where a provider answers in several steps, or raises a ProviderError.

        ``lines`` may itself raise a ProviderError: the connection broke.
        """
        ...

    def decode_error(self, status: int, headers: Mapping[str, str], body: str) -> ProviderError:
        """The error that an answer other than 2xx stands for. Header names are lower case."""
        ...


class ModerationWire(Protocol):
    """A wire that says whether a text may pass."""

    def path(self) -> str:
        """Where the request goes, behind the provider's base URL."""
        ...

    def encode(self, text: str) -> dict[str, Any]:
        """The request's JSON body."""
        ...

    def decode(self, body: bytes) -> Moderated:
        """The answer. Raises StreamCut if it says nothing of the text."""
        ...

    def decode_error(self, status: int, headers: Mapping[str, str], body: str) -> ProviderError:
        """See ``Wire``."""
        ...


@dataclass(frozen=True, slots=True)
class ImageLink:
    """An image that the provider keeps at an address, for a while."""

    url: str


class ImageWire(Protocol):
    """A wire on which images are made."""

    def path(self, options: ImageOptions) -> str:
        """Where the request goes, behind the provider's base URL."""
        ...

    def encode(self, prompt: str, options: ImageOptions) -> dict[str, Any]:
        """The request's JSON body."""
        ...

    def decode(self, body: bytes) -> Image | ImageLink:
        """The first image of the answer. Raises a ProviderError if there is none."""
        ...

    def decode_error(self, status: int, headers: Mapping[str, str], body: str) -> ProviderError:
        """See ``Wire``."""
        ...
