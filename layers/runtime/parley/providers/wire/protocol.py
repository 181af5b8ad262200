"""What a wire module offers. The modules themselves implement it; a provider's row names one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from parley.domain.errors import ProviderError
from parley.prompts.prompt import Prompt
from parley.turns.model_ports import Delta


class Wire(Protocol):
    """One wire format."""

    def path(self, prompt: Prompt) -> str:
        """Where the request goes, behind the provider's base URL."""
        ...

    def encode(self, prompt: Prompt) -> dict[str, Any]:
        """The request's JSON body."""
        ...

    def decode_stream(self, lines: Iterable[str]) -> Iterator[Delta]:
        """The reply's text lines (without line ends) to deltas; ends with Finish or raises a ProviderError.

        ``lines`` may itself raise a ProviderError: the connection broke.
        """
        ...

    def decode_error(self, status: int, headers: Mapping[str, str], body: str) -> ProviderError:
        """The error that an answer other than 2xx stands for. Header names are lower case."""
        ...
