"""The page: its static files, read once, with the headers that keep a browser from doing harm."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from parley import page
from parley.embedded.gateway import HttpAnswer

_HEADERS = [("cache-control", "no-cache"), *page.security_headers().items()]
"""A browser asks each time, and is told 304: after an upgrade nobody works with half of an old page."""


class _File(NamedTuple):
    content: bytes
    gzipped: bytes
    content_type: str
    etag: str


class Pages:
    """Files by their path in the URL; `/` is `index.html`. Only the kinds of files that a page needs."""

    def __init__(self, folder: Path) -> None:
        self._files = {
            f"/{name}": _file(path.read_bytes(), path.suffix) for name, path in page.files(folder).items()
        }
        self._files[f"/{page.CONFIG}"] = _file(json.dumps(page.config()).encode(), ".json")
        if f"/{page.INDEX}" in self._files:
            self._files["/"] = self._files[f"/{page.INDEX}"]

    def answer(self, method: str, path: str, headers: Mapping[str, str]) -> HttpAnswer | None:
        """The file, 304 if the browser has it already, or None if there is no such file."""
        found = self._files.get(path)
        if found is None or method not in {"GET", "HEAD"}:
            return None
        own = [*_HEADERS, ("etag", found.etag), ("vary", "accept-encoding")]
        known = {tag.strip().removeprefix("W/") for tag in headers.get("if-none-match", "").split(",")}
        if found.etag.removeprefix("W/") in known or "*" in known:
            return HttpAnswer(304, own)
        content = found.content
        if _takes_gzip(headers.get("accept-encoding", "")):
            content = found.gzipped
            own.append(("content-encoding", "gzip"))
        own += [("content-type", found.content_type), ("content-length", str(len(content)))]
        return HttpAnswer(200, own, content if method == "GET" else b"")


def _file(content: bytes, suffix: str) -> _File:
    # Weak: the same tag for both encodings.
    etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
    return _File(content, gzip.compress(content, 6, mtime=0), page.TYPES[suffix], etag)


def _takes_gzip(accepted: str) -> bool:
    """Of the codings that a browser names (RFC 9110, 12.5.3), ours is the only one that is looked for."""
    for coding in accepted.lower().split(","):
        name, _, weight = coding.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
