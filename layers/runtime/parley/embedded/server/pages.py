"""The page: the static files of `web/`, read once, with the headers that keep a browser from doing harm."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from parley.embedded.gateway import HttpAnswer

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    ("cache-control", "no-cache"),
    ("content-security-policy", _POLICY),
    ("cross-origin-opener-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
]


class _Page(NamedTuple):
    content: bytes
    content_type: str
    etag: str


class Pages:
    """Files by their path in the URL; `/` is `index.html`. Only the kinds of files that a page needs."""

    def __init__(self, folder: Path) -> None:
        self._pages: dict[str, _Page] = {}
        for path in sorted(folder.rglob("*")):
            if path.suffix in _TYPES and path.is_file():
                content = path.read_bytes()
                etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
                page = _Page(content, _TYPES[path.suffix], etag)
                self._pages[f"/{path.relative_to(folder).as_posix()}"] = page
        if "/index.html" in self._pages:
            self._pages["/"] = self._pages["/index.html"]

    def answer(self, method: str, path: str, headers: Mapping[str, str]) -> HttpAnswer | None:
        """The file, 304 if the browser has it already, or None if there is no such file."""
        page = self._pages.get(path)
        if page is None or method not in {"GET", "HEAD"}:
            return None
        own = [*_HEADERS, ("etag", page.etag)]
        known = {tag.strip().removeprefix("W/") for tag in headers.get("if-none-match", "").split(",")}
        if page.etag in known or "*" in known:
            return HttpAnswer(304, own)
        own += [("content-type", page.content_type), ("content-length", str(len(page.content)))]
        return HttpAnswer(200, own, page.content if method == "GET" else b"")
