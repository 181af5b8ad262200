"""What the page is, wherever it is served: its files, their types, and the headers that keep it from harm.

The embedded server reads it here, and ``parley page`` uploads it; the template's headers are tested against these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from parley import assets

TYPES: Final = {
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
INDEX: Final = "index.html"
CONFIG: Final = "config.json"
MACHINE: Final = "conversation.asl.json"
_INSTALLED_FROM = ("package.json", "package-lock.json", "node_modules")
"""What npm reads and keeps in a clone; the page itself has its copies in `vendor`."""

_POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self' blob: data:",
    "font-src": "'self'",
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    # No text becomes markup by accident: what may is what DOMPurify made.
    "require-trusted-types-for": "'script'",
    "trusted-types": "dompurify",
}


def content_security_policy(connect: str = "") -> str:
    """Nothing but the page's own files runs or is loaded; ``connect``: origins besides its own that it may call.

    Pictures may be ``data:`` and ``blob:``, since files of the project are fetched with a token; none is loaded
    from another host, where its address could carry away what a conversation holds.
    """
    policy = {**_POLICY, "connect-src": f"'self' {connect}".strip()}
    return "; ".join(f"{directive} {sources}" for directive, sources in policy.items())


def security_headers(connect: str = "") -> dict[str, str]:
    """Headers of every file of the page."""
    return {
        "content-security-policy": content_security_policy(connect),
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
    }


def files(folder: Path) -> dict[str, Path]:
    """The page's files by their path below its address, the state machine that the inspector draws included."""
    found = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES
        and path.is_file()
        and path.relative_to(folder).parts[0] not in _INSTALLED_FROM
    }
    return {**found, MACHINE: assets.data_folder("statemachine") / MACHINE}


def config(
    *, api: str = "", socket: str = "", issuer: str = "", client_id: str = "", scope: str = ""
) -> dict[str, Any]:
    """What the page reads first: where its server is, and how a person signs in. What is not given is left out.

    ``api``: the HTTP API's base address; without it, the page's own origin. ``socket``: the WebSocket's address;
    without it, what the ticket's answer names, else ``/ws`` at the page's own origin. ``sign_in``: the identity
    provider; without it a token is pasted, or comes with the link.
    """
    sign_in = {"issuer": issuer, "client_id": client_id, "scope": scope or "openid"} if client_id else None
    facts = {"api": api, "socket": socket, "sign_in": sign_in}
    return {name: fact for name, fact in facts.items() if fact}
