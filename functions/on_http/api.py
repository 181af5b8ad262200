"""The entry of the HTTP API's Lambda: all routes, one error form, and the OpenAPI document."""

from __future__ import annotations

import json
import threading
from functools import cache
from typing import Any

import parley
from on_http import answers, confirmations, documents, files, projects, threads
from on_http.resolver import Resolver

_writing = threading.Lock()
"""Powertools writes its document in state of its own: two writers at once fail each other."""

app = Resolver()
answers.install(app)
for module in (threads, confirmations, projects, files, documents):
    app.include_router(module.router)


@app.get("/openapi.json", tags=["about"])
def openapi() -> dict[str, Any]:
    """This document."""
    with _writing:
        return _document()


@cache
def _document() -> dict[str, Any]:
    text = app.get_openapi_json_schema(title="Parley", version=parley.__version__)
    document: dict[str, Any] = json.loads(text)
    return document


def routes() -> list[tuple[str, str]]:
    """Every route, as the resolver has it."""
    return app.routes()


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer one request."""
    return app.resolve(event, context)
