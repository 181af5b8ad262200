"""What the use cases need of model providers: a stream of deltas; some also moderate texts or make images.

See ``ports`` for the rest of the world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from parley.domain.agents import Capabilities
from parley.domain.messages import Usage
from parley.prompts.prompt import Prompt

# What a provider streams: a closed union.


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStart:
    """A call begins. ``index`` counts the reply's calls from 0; the id is the provider's own, or None."""

    index: int
    name: str
    provider_call_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolArgumentsDelta:
    """More of a call's arguments (JSON text)."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallEnd:
    """What became of a call that was written in text, where its pieces do not tell.

    ``arguments`` (JSON text) count in place of them. ``error``: why the call cannot run, whatever its arguments look
    like; for the model to read.
    """

    index: int
    arguments: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """The terminal event; a stream without one was cut.

    ``reason``: stop, length, tool_calls, content_filter. ``provider_data`` is what this provider wants back
    unchanged with the message (signatures, reasoning).
    """

    reason: str
    usage: Usage | None = None
    provider_data: dict[str, Any] = field(default_factory=dict)


Delta = TextDelta | ToolCallStart | ToolArgumentsDelta | ToolCallEnd | Finish


class Provider(Protocol):
    """A model provider behind one of the wires."""

    name: str

    def capabilities(self) -> Capabilities:
        """What it can do, before an agent's overrides."""
        ...

    def is_configured(self) -> bool:
        """Whether its settings are there."""
        ...

    def stream(self, prompt: Prompt) -> Iterator[Delta]:
        """Call the model. Ends with Finish, or raises a ProviderError. Closing the iterator aborts the call."""
        ...


class Providers(Protocol):
    """The providers of this installation."""

    def get(self, name: str) -> Provider:
        """Raises ProviderNotConfigured, naming those that exist, if there is none of that name."""
        ...

    def names(self) -> Sequence[str]:
        """All names, sorted."""
        ...

    def check_settings(self, name: str, settings: Mapping[str, Any]) -> None:
        """Raises ProviderRejectedRequest for settings with which every call would fail, as far as that is known."""
        ...


@dataclass(frozen=True, slots=True)
class Moderated:
    """What a moderation says of a text: ``categories`` are those that it falls under, ``scores`` all (0 to 1)."""

    flagged: bool
    categories: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)


class Moderator(Protocol):
    """A provider that says whether a text may pass."""

    name: str

    def moderate(self, text: str) -> Moderated:
        """Raises a ProviderError if it could not be asked."""
        ...


class Moderators(Protocol):
    """The moderators of this installation."""

    def moderator(self, name: str) -> Moderator:
        """Raises ProviderNotConfigured, naming those that exist, if the provider does not moderate."""
        ...


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """How an image is made. What a provider has no word for is not sent.

    ``size`` is in pixels, such as ``"1024x1024"``; ``aspect_ratio`` such as ``"16:9"``; ``settings`` are the
    provider's own and are sent as they are.
    """

    model: str
    size: str | None = None
    aspect_ratio: str | None = None
    quality: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Image:
    """An image; ``media_type`` such as ``image/png`` is that of the bytes, whatever the provider called them."""

    data: bytes
    media_type: str


class ImageMaker(Protocol):
    """A provider that makes images."""

    name: str

    def imagine(self, prompt: str, options: ImageOptions) -> Image:
        """Raises a ProviderError; ProviderRejectedRequest if the provider will not make this one."""
        ...


class ImageMakers(Protocol):
    """The image makers of this installation."""

    def image_maker(self, name: str) -> ImageMaker:
        """Raises ProviderNotConfigured, naming those that exist, if the provider makes no images."""
        ...


class InstalledProviders(Providers, Moderators, ImageMakers, Protocol):
    """Everything that this installation's providers can do."""
