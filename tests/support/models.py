"""A provider of a test's own, and an installation that has no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parley.domain.agents import Capabilities
from parley.domain.errors import ProviderNotConfigured
from parley.turns.model_ports import ImageMaker, Moderator, Provider


class Model:
    """A Provider but for its ``stream``: configured, and able to do what a model usually can."""

    name = "model"

    def capabilities(self) -> Capabilities:
        return Capabilities()

    def is_configured(self) -> bool:
        return True


class OneProvider:
    """Providers with a single one, which ``provider`` may be changed for another."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    def get(self, name: str) -> Provider:
        return self.provider

    def names(self) -> Sequence[str]:
        return [self.provider.name]

    def check_settings(self, name: str, settings: Mapping[str, Any]) -> None:
        """Any will do."""

    def moderator(self, name: str) -> Moderator:
        raise ProviderNotConfigured("nobody moderates here")

    def image_maker(self, name: str) -> ImageMaker:
        raise ProviderNotConfigured("nobody paints here")
