"""What has to be true when everybody has been answered, however often the server was killed."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from tests.support import till
from tests.support.live import LiveClient, texts_of

WORDS = "one two three four five six seven eight nine ten eleven twelve."
PATIENCE = 90.0


class Person(LiveClient):
    """``said``: each message's text, id, and the answer to a question about it; ``answered``: proposals decided."""

    said: list[tuple[str, str, bool]]
    answered: set[str]


async def check_person(person: Person) -> tuple[set[str], set[str]]:
    """The log, the messages and the status tell one story; the keys of approved actions, and of other calls."""
    log = await person.log()
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
    await person.until(lambda: len(person.events) >= len(log), PATIENCE)
    assert person.events == log, f"{person.user} saw other events than are stored"
    _check_turns(person, log)
    _check_texts(log)
    status = await person.request("GET", person.path())
    assert (status["phase"], status["queued"], status["pending"]) == ("waiting_for_input", 0, []), status
    assert status["turns"] == len(person.said)
    runs = (await person.request("GET", person.path("/runs")))["runs"]
    assert sorted(run["generation"] for run in runs) == list(range(1, len(runs) + 1)), runs
    assert sum(run["turns"] for run in runs) == len(person.said), runs
    assert sum(run["status"] == "running" for run in runs) <= 1, runs
    await _check_messages(person, log)
    return _check_actions(person, log)


def _of(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["event"] == name]


def _check_turns(person: Person, log: list[dict[str, Any]]) -> None:
    """Every message opened one turn, in order, and every turn ended once."""
    said = [(words, message_id) for words, message_id, _ in person.said]
    assert [(data["content"], data["message_id"]) for data in _of(log, "UserMessage")] == said
    assert [data["turn"] for data in _of(log, "ThreadEnd")] == list(range(1, len(said) + 1))
    assert not _of(log, "TurnFailed")


def _check_texts(log: list[dict[str, Any]]) -> None:
    """Chunks, joined as a page joins them, are the replies; each model call ended once."""
    texts = texts_of(log)
    ends = _of(log, "MessageEnd")
    assert {data["message_id"]: data["content"] for data in ends} == {
        message_id: text for message_id, text in texts.items() if text
    }
    assert len(ends) == len({data["message_id"] for data in ends})


async def _check_messages(person: Person, log: list[dict[str, Any]]) -> None:
    """What is stored: each message once and in order, each with the reply that the log ended with."""
    stored = await person.messages()
    mine = [(message["content"], message["id"]) for message in stored if message["kind"] == "USER_MESSAGE"]
    assert mine == [(words, message_id) for words, message_id, _ in person.said]
    replies = [message["content"] for message in stored if message["kind"] == "ASSISTANT_MESSAGE"]
    assert replies == [f"{words.split()[0]}: {WORDS}" for words, _, _ in person.said]
    root = {data["message_id"]: data["content"] for data in _of(log, "MessageEnd")}
    assert all(root[message["id"]] == message["content"] for message in stored if message["id"] in root)


def _check_actions(person: Person, log: list[dict[str, Any]]) -> tuple[set[str], set[str]]:
    """Every proposal was decided once, as the person decided; every call has one response."""
    asked = {data["proposal_id"]: data["tool_call_id"] for data in _of(log, "ActionRequiresConfirmation")}
    confirmed = [data["proposal_id"] for data in _of(log, "ActionConfirmed")]
    rejected = [data["proposal_id"] for data in _of(log, "ActionRejected")]
    assert sorted([*confirmed, *rejected]) == sorted(asked) == sorted(person.answered)
    assert all(data["reason"] == "declined" for data in _of(log, "ActionRejected"))
    called = [data["tool_call_id"] for data in _of(log, "ToolCall")]
    responses = {data["tool_call_id"]: data for data in _of(log, "ToolResponse")}
    assert sorted(called) == sorted(data["tool_call_id"] for data in _of(log, "ToolResponse"))
    assert all(responses[asked[key]]["ok"] for key in confirmed)
    assert not any(responses[asked[key]]["ok"] for key in rejected)
    plain = {data["tool_call_id"] for data in _of(log, "ToolCall") if data["name"] == "look"}
    return set(confirmed), plain


def check_till(till_file: Path, payments: list[tuple[set[str], set[str]]]) -> dict[str, int]:
    """The outside system saw the approved actions and no others, each under one key."""
    lines = till.lines_of(till_file)
    paid = {line["key"] for line in lines if line["function"] == "pay"}
    looked = {line["key"] for line in lines if line["function"] == "look"}
    assert paid == set().union(*(confirmed for confirmed, _ in payments))
    assert looked == set().union(*(plain for _, plain in payments))
    amounts = {(line["key"], line["amount"]) for line in lines}
    assert len(amounts) == len(paid) + len(looked), "one key with two amounts"
    return {"keys": len(amounts), "repeated after a kill": len(lines) - len(amounts)}


def check_folder(data: Path, threads: int) -> None:
    """The file is whole; nothing is due; each conversation has the one execution that waits for its next message."""
    connection = sqlite3.connect(data / "parley.db")
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT sort FROM items WHERE due_partition IS NOT NULL").fetchall() == []
        running = connection.execute("SELECT name FROM execution WHERE status = 'RUNNING'").fetchall()
        assert len(running) == threads, running
        left = (
            "SELECT * FROM branch WHERE execution NOT IN (SELECT id FROM execution WHERE status = 'RUNNING')"
        )
        assert connection.execute(left).fetchall() == []
        ended = "SELECT name, status FROM execution WHERE status NOT IN ('RUNNING', 'SUCCEEDED')"
        assert connection.execute(ended).fetchall() == []
    finally:
        connection.close()
    assert list((data / "blobs/.tmp").iterdir()) == []


def check_log(text: str, *, full_disks: int) -> None:
    """The server complained of nothing but the disk."""
    complaints = [line for line in text.splitlines() if "Traceback" in line or line.startswith("ERROR")]
    if full_disks:
        complaints = [line for line in complaints if "disk" not in line and "may not grow" not in line]
    assert not complaints, complaints[:5]
