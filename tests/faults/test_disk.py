"""A disk that takes nothing: a plain word about it, nothing broken, and all goes on by itself when it takes again."""

from __future__ import annotations

import asyncio
import ctypes
import dataclasses
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from parley.cli import main as cli
from parley.domain.errors import StorageError
from parley.embedded.database import Database
from parley.embedded.server import Service
from tests.faults.killing import Plan, run
from tests.support.killed import ROOT
from tests.support.served import PATIENCE, served

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 24, 1, 2
SERVE = ("serve", "--port", "0")
CHAT = ("chat", "--message", "Hello")
needs_prlimit = pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="only Linux limits another process"
)


def parley(*arguments: str, prepare: Callable[[], None] = lambda: None) -> subprocess.CompletedProcess[str]:
    """A command that has to end by itself."""
    folders = [ROOT / "functions", ROOT / "layers/runtime", ROOT / "layers/marketer"]
    return subprocess.run(
        [sys.executable, "-m", "parley.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=4 * PATIENCE,
        preexec_fn=prepare,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
    )


def chats(data: Path) -> bool:
    """Whether somebody can talk on the folder: in this process, which nothing limits."""
    return cli.main([*CHAT, "--data", str(data)]) == 0


def heed_permissions() -> None:
    """Let permissions bind a superuser too."""
    if os.geteuid() == 0:
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def no_file_larger_than(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def told(finished: subprocess.CompletedProcess[str]) -> str:
    """What a command that did not work said: one line, no traceback."""
    assert finished.returncode == 1, finished
    lines = [line for line in finished.stderr.splitlines() if not line.startswith("ERROR parley.embedded")]
    assert len(lines) == 1, finished.stderr
    assert lines[0].startswith("parley: ")
    return lines[0]


@pytest.mark.parametrize(("command", "used"), [(SERVE, False), (CHAT, True)])
def test_a_read_only_folder_is_told_in_one_line(tmp_path: Path, command: tuple[str, ...], used: bool) -> None:
    data = tmp_path / "data"
    if used:
        assert chats(data)
    else:
        data.mkdir()
    files = [*data.iterdir()]
    for path in [*files, data]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    line = told(parley(*command, "--data", str(data), prepare=heed_permissions))
    assert str(data) in line
    assert line.endswith("not allowed: make the folder and its files yours and writable")
    data.chmod(0o755)
    for path in files:
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert chats(data)


@pytest.mark.parametrize(("command", "size"), [(SERVE, 0), (CHAT, 4096), (SERVE, 120_000)])
def test_a_start_on_a_full_disk_is_told_in_one_line_and_breaks_nothing(
    tmp_path: Path, command: tuple[str, ...], size: int
) -> None:
    line = told(parley(*command, "--data", str(tmp_path), prepare=no_file_larger_than(size)))
    assert str(tmp_path) in line
    assert "free some space" in line or "free space" in line
    assert chats(tmp_path)


@needs_prlimit
def test_a_disk_that_takes_nothing_for_a_while_under_load_costs_nobody_a_turn(tmp_path: Path) -> None:
    plan = Plan(seed=5, kills=0, conversations=4, longest_life=0.7, full_disks=3)
    asyncio.run(run(plan, tmp_path))
    assert "changes are saved again" in (tmp_path / "server.log").read_text()


def test_a_connection_is_put_off_while_the_disk_is_full(tmp_path: Path) -> None:
    def change(service: Service) -> Service:
        def handler(event: Any, context: Any) -> Any:
            raise StorageError("parley.db: the disk is full")

        return dataclasses.replace(service, handlers=dataclasses.replace(service.handlers, socket=handler))

    with served(tmp_path, change=change) as running:
        with pytest.raises(InvalidStatus) as refused, running.socket(f"?token={running.token()}"):
            pass
        assert refused.value.response.status_code == 503


def test_a_full_disk_is_logged_once_and_so_is_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(tmp_path / "some.db")
    database.write(lambda connection: connection.execute("CREATE TABLE t (v TEXT)"))
    limit_pages(database, 1)

    def write(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO t VALUES (?)", ("x" * 10_000,))

    for _ in range(3):
        with pytest.raises(StorageError, match="free some space"):
            database.write(write)
    limit_pages(database, 1_000_000)
    for _ in range(2):
        database.write(write)
    database.close()
    assert caplog.text.count("nothing can be saved for now") == 1
    assert caplog.text.count("changes are saved again") == 1


def limit_pages(database: Database, most: int) -> None:
    database.write(lambda connection: connection.execute(f"PRAGMA max_page_count = {most}").fetchone())
