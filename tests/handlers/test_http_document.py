"""The OpenAPI document, asked for by several at once in a process that has not written it yet."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from on_http import api


def test_the_document_is_written_once_however_many_ask_for_it_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shipped, writers = api.app.get_openapi_json_schema, 0
    asked = threading.Barrier(4)

    def write(**about: Any) -> str:
        nonlocal writers
        writers += 1
        return shipped(**about)

    def ask(_: int) -> int:
        asked.wait(120)
        return len(api.openapi()["paths"])

    monkeypatch.setattr(api.app, "get_openapi_json_schema", write)
    api._document.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert found == 4 * [found[0]]
    assert writers == 1
