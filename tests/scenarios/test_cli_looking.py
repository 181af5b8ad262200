"""To look at a data folder that nobody serves does nothing in it: what is under way rests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from parley import wiring
from parley.cli import main as cli
from parley.embedded.backup import back_up
from tests.support.served import served


@pytest.fixture
def resting(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder whose process died in a turn, and the thread of that turn."""
    data = tmp_path / "data"
    with served(data, working=False) as server, server.client() as client:
        path = "/api/projects/demo/agents/general-assistant/chat"
        thread = client.post(path, json={"message": "Hello"}).json()["thread_id"]
    yield data, thread
    wiring.use(None)


def under_way(data: Path) -> list[Any]:
    """All that changes when a conversation goes on: the executions, and the states that they are and were in."""
    with closing(sqlite3.connect(data / "parley.db")) as connection:
        return [
            sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr)  # noqa: S608 - ours
            for table in ("execution", "branch", "visit")
        ]


def looks(thread: str) -> list[list[str]]:
    return [
        ["status", thread],
        ["threads"],
        ["events", thread],
        ["runs", thread],
        ["runs", thread, "1"],
        ["agents"],
        ["confirmations"],
        ["kb", "list"],
        ["token"],
    ]


def test_commands_that_look_at_a_folder_or_its_backup_move_nothing(
    resting: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, thread = resting
    backup = tmp_path / "backup"
    back_up(data, backup)
    before = under_way(data)
    for folder in (data, backup):
        for command in looks(thread):
            assert cli.main([*command, "--data", str(folder)]) == 0, command
    assert under_way(data) == under_way(backup) == before
    capsys.readouterr()

    assert cli.main(["chat", "--thread", thread, "--message", "Thanks", "--data", str(data)]) == 0
    assert 'You said: "Hello".' in capsys.readouterr().out, "it goes on when somebody works on the folder"


def test_following_ends_where_nobody_works_on_what_is_followed(
    resting: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    data, thread = resting
    assert cli.main(["events", thread, "--follow", "--data", str(data)]) == 1
    assert capsys.readouterr().err == (
        f"parley: nobody serves {data}, so no more events come; `parley serve` and `parley chat` go on with it\n"
    )
