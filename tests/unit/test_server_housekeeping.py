"""What the embedded server does every minute."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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

    application = Application(served(tmp_path, repair, purge))
    asyncio.run(application._repair())
    application.stop()
    assert done == ["Scheduled Event", "purge"]
    for what in ("repair", "cleaning up"):
        assert f"{what} failed; it is tried again in a minute" in caplog.text


@pytest.mark.parametrize("working", [True, False])
def test_a_server_for_looking_repairs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, working: bool
) -> None:
    done: list[str] = []

    async def once(application: Application) -> None:
        done.append("repair")

    async def never(application: Application) -> None:
        pass

    monkeypatch.setattr(Application, "_repair_now_and_then", once)
    monkeypatch.setattr(Application, "_end_overdue", never)
    application = Application(served(tmp_path, working=working))
    asyncio.run(application.keep_house())
    application.stop()
    assert done == ["repair"] * working


def served(tmp_path: Path, repair: Any = None, purge: Any = None, *, working: bool = True) -> Any:
    """A service of which only the housekeeping is there."""
    return SimpleNamespace(
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
        working=working,
    )
