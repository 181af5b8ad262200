"""The base of all stored and sent values."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """An immutable value with JSON in and out.

    Unknown fields are ignored, so that an item written by a newer release can be read by an older one
    while a deployment is under way.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    def but(self, **changes: Any) -> Self:
        """A copy with these fields changed (not validated again: for our own, typed code only)."""
        return self.model_copy(update=changes)
