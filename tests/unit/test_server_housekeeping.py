"""What the embedded server does every minute."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from parley.domain.errors import StorageError
from parley.embedded.server.app import Application


@pytest.mark.parametrize("error", [LookupError("a thread's own"), StorageError("the disk is full")])
def test_old_items_go_although_a_thread_cannot_be_repaired(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    done: list[str] = []

    def repair(event: Any, context: Any) -> None:
        done.append(event["detail-type"])
        raise error

    def purge() -> None:
        done.append("purge")
        raise error

    service = SimpleNamespace(
        handlers=SimpleNamespace(http=None, repair=repair),
        pages=tmp_path,
        routes=(),
        public=frozenset(),
        now=lambda: 0.0,
        purge=purge,
        hub=None,
        issuer=SimpleNamespace(verify=None),
        enroll=None,
        import_session=None,
        cors=None,
    )
    application = Application(cast("Any", service))
    asyncio.run(application._repair())
    application.stop()
    assert done == ["Scheduled Event", "purge"]
    for what in ("repair", "cleaning up"):
        assert f"{what} failed; it is tried again in a minute" in caplog.text
