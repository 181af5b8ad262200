"""A model's reasoning, put together out of the pieces of a stream, for providers who want it back."""

from __future__ import annotations

from typing import Any

from parley.providers.wire.shapes import as_list, as_object

_JOINED = ("text", "summary", "data")


class Reasoning:
    """The reasoning of one reply, as its pieces arrive: text, or objects that are joined by their index."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._details: list[dict[str, Any]] = []

    def take(self, piece: Any) -> None:
        """What a delta has in the field."""
        if isinstance(piece, str):
            self._text.append(piece)
        for detail in map(as_object, as_list(piece)):
            last = self._details[-1] if self._details else {}
            same = detail.get("index") is not None and all(
                last.get(name) == detail.get(name) for name in ("index", "type")
            )
            if not same:
                self._details.append(dict(detail))
                continue
            for name, value in detail.items():
                if name in _JOINED and isinstance(value, str) and isinstance(last.get(name), str):
                    last[name] += value
                elif value is not None:
                    last[name] = value

    @property
    def whole(self) -> str | list[dict[str, Any]]:
        """What goes back; empty if nothing came."""
        return self._details or "".join(self._text)
