"""The setting ``tool_choice``, which an agent may have in any provider's form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

_KINDS: dict[str, Literal["auto", "any", "none"]] = {
    "auto": "auto",
    "any": "any",
    "required": "any",
    "none": "none",
}


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """May the model call functions (auto), must it (any), must it not (none), or must it call ``name`` (tool)?"""

    kind: Literal["auto", "any", "none", "tool"]
    name: str = ""


def tool_choice(setting: Any) -> ToolChoice | None:
    """``"auto"``, ``{"type": "any"}``, ``{"type": "tool", "name"}``, ``{"type": "function", "function": {"name"}}``,
    ``{"auto": {}}``; None if it is not set or nothing that can be read.
    """
    match setting:
        case str(kind) | {"type": str(kind)} if kind in _KINDS:
            return ToolChoice(_KINDS[kind])
        case {"type": "function", "function": {"name": str(name)}} | {"type": "tool", "name": str(name)}:
            return ToolChoice("tool", name)
        case {"tool": {"name": str(name)}}:
            return ToolChoice("tool", name)
        case {"auto": _}:
            return ToolChoice("auto")
        case {"any": _}:
            return ToolChoice("any")
        case _:
            return None
