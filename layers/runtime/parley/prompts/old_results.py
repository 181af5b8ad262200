"""Results of calls as older sessions have them: in a user's message, as text or as XML elements.

Owns the reading. Such a message begins with ``Tool Results:`` or with ``<tool_response``; the elements name
their function in an attribute, and say in another whether it worked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from parley.prompts.xml_arguments import read_entities

_HEAD = re.compile(r"\s*Tool (?:Execution )?Results:[ \t]*\n?", re.IGNORECASE)
_ELEMENT = re.compile(r"<tool_response\b([^<>]*?)(?:/>|>(.*?)</tool_response\s*>)", re.DOTALL)
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_NAMES = ("name", "tool", "function", "tool_name")
_FAILED = {
    "ok": ("false", "0", "no"),
    "success": ("false", "0", "no"),
    "status": ("error", "failed", "failure"),
}


@dataclass(frozen=True, slots=True)
class OldResult:
    """One element: ``name`` is empty if it does not say."""

    name: str
    content: str
    ok: bool


def looks_like_results(content: str) -> bool:
    """Whether a user's message was written by the program and not by a person."""
    return _HEAD.match(content) is not None or content.lstrip().startswith("<tool_response")


def read_results(content: str) -> tuple[list[OldResult], str]:
    """The elements in order, and what else the message says."""
    head = _HEAD.match(content)
    text = content[head.end() :] if head else content
    found = [_read(match[1], match[2] or "") for match in _ELEMENT.finditer(text)]
    return found, _ELEMENT.sub("", text).strip()


def _read(attributes: str, body: str) -> OldResult:
    given = {name.lower(): read_entities(value[1:-1]) for name, value in _ATTRIBUTE.findall(attributes)}
    cdata = _CDATA.fullmatch(body)
    return OldResult(
        name=next((given[name] for name in _NAMES if given.get(name)), ""),
        content=cdata[1] if cdata else read_entities(body).strip(),
        ok=not any(given.get(name, "").lower() in words for name, words in _FAILED.items()),
    )
