"""JSON schemas of arguments models: what a model is shown, and where an error's limits are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel


def parameters_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON schema without what pydantic makes up (titles) and our own docstring.

    ``type`` and ``properties`` are always there: some providers insist on both.
    """
    schema = _without_titles(arguments.model_json_schema())
    schema.pop("description", None)
    return {"type": "object", "properties": {}, **schema}


def _without_titles(schema: Any) -> Any:
    """Drops ``title`` where it is a word of the schema, not where it is the name of a property."""
    if isinstance(schema, list):
        return [_without_titles(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    cleaned: dict[str, Any] = {}
    for key, value in schema.items():
        if key in {"properties", "$defs", "patternProperties"}:
            cleaned[key] = {name: _without_titles(part) for name, part in value.items()}
        elif key in {"default", "const", "enum", "examples"}:
            cleaned[key] = value
        elif key != "title":
            cleaned[key] = _without_titles(value)
    return cleaned


def schema_at(schema: dict[str, Any], path: Sequence[int | str]) -> dict[str, Any]:
    """The part of a schema that describes the value at a path; ``{}`` if the path leads nowhere."""
    found = _resolved(schema, schema)
    for step in path:
        parts = {step: found.get("items")} if isinstance(step, int) else found.get("properties") or {}
        found = _resolved(parts.get(step) or {}, schema)
    return found


def _resolved(part: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """``$ref`` followed; of alternatives the one that is not null."""
    reference = part.get("$ref")
    if isinstance(reference, str):
        return _resolved((root.get("$defs") or {}).get(reference.rpartition("/")[2]) or {}, root)
    for alternative in part.get("anyOf") or ():
        if alternative.get("type") != "null":
            return _resolved(alternative, root)
    return part
