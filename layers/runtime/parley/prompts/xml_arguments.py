"""What stands between ``<tool_call>`` and ``</tool_call>``: a JSON object, however the model wrapped it.

Owns the readings that are tried: as it is; without CDATA marks or a code fence; with XML's entities. A body
that could be XML text (no ``<``, no bare ``&``) has its entities read; any other is taken as it stands, and so
is what is inside CDATA.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

_CDATA = re.compile(r"<!\[CDATA\[(.*)\]\]>", re.DOTALL)
_CDATA_SEAM = "]]]]><![CDATA[>"
_FENCED = re.compile(r"(`{3,}|~{3,})[^\n`{]*\n(.*?)\n?\s*\1", re.DOTALL)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")


def read_arguments(body: str) -> dict[str, Any] | None:
    """The object, ``{}`` for an empty body, or None if this is none (yet)."""
    text = body.strip()
    cdata = _CDATA.fullmatch(text)
    if cdata:
        text = cdata[1].replace(_CDATA_SEAM, "]]>").strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[2].strip()
    if not text:
        return {}
    escaped = not cdata and _is_escaped(text)
    try:
        value = _object(text)
        if value is not None:
            return _with_entities_read(value) if escaped else value
        return _object(read_entities(text)) if escaped else None
    except RecursionError:
        return None


def read_entities(text: str) -> str:
    """XML's own entities and numbered characters; any other ``&`` stays."""
    return _ENTITY.sub(lambda entity: html.unescape(entity.group()), text)


def _is_escaped(text: str) -> bool:
    ampersands = text.count("&")
    return ampersands > 0 and "<" not in text and len(_ENTITY.findall(text)) == ampersands


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object; line breaks inside its strings are let through."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = json.loads(text, strict=False)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _with_entities_read(value: Any) -> Any:
    match value:
        case str():
            return read_entities(value)
        case dict():
            return {read_entities(key): _with_entities_read(part) for key, part in value.items()}
        case list():
            return [_with_entities_read(part) for part in value]
        case _:
            return value
