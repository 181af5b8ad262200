"""Older sessions: imported once, whole for the model, without what no person wrote for people, and gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from parley.cli import main as cli
from parley.domain.conversation import RunStatus
from parley.domain.errors import Conflict, NotFound, StoreUnavailable
from parley.turns.import_session import SessionImported, import_session
from parley.turns.ports import Item
from tests.support.backends import ONLY_EMBEDDED
from tests.support.served import served
from tests.support.systems import System

CALL = '<tool_call name="note">{"text": "milk"}</tool_call>'
OLD: dict[str, Any] = {
    "id": "old-1",
    "systemPrompt": "You are an old hand.",
    "createdAt": 1_700_000_000_000,
    "messages": [
        {"id": "1", "role": "user", "content": "Note  milk", "timestamp": 1_700_000_000_000},
        {"id": "2", "role": "assistant", "content": CALL, "timestamp": 1_700_000_001_000},
        {
            "id": "3",
            "role": "user",
            "content": 'Tool Results:\n<tool_response name="note">Noted</tool_response>',
            "timestamp": 1_700_000_002_000,
        },
        {"id": "4", "role": "assistant", "content": "It is noted.", "timestamp": 1_700_000_003_000},
        {"id": "5", "role": "user", "content": "How many?", "timestamp": 1_700_000_004_000},
        {"id": "6", "role": "assistant", "content": "I count.", "timestamp": 1_700_000_005_000},
        {"id": "7", "role": "user", "content": "Tool Results: 3", "timestamp": 1_700_000_006_000},
        {"id": "8", "role": "assistant", "content": "Three.", "timestamp": 1_700_000_007_000},
    ],
}


def imported(system: System, session: dict[str, Any] = OLD) -> SessionImported:
    return import_session(system.runtime, "dev", system.project, "talker", session)


def test_an_imported_thread_goes_on_with_its_history(system: System) -> None:
    system.agent(script=[{"when": "thanks", "text": "You are welcome."}])
    answer = imported(system)
    assert (answer.turns, answer.title, answer.imported) == (2, "Note milk", True)
    thread = answer.thread_id

    status = system.status(thread)
    assert (status["phase"], status["generation"], status["turns"]) == ("waiting_for_input", 1, 2)
    assert (status["created_at"], status["updated_at"]) == (1_700_000_000, 1_700_000_007)
    assert status["last_reply_ref"] == f"{thread}/2"
    assert [entry["thread_id"] for entry in system.get(system.of_project("/chat-threads"))["threads"]] == [
        thread
    ]
    assert system.get(system.of_thread(thread, "/replies/2"))["content"] == "Three."

    system.say(thread, "Thanks")
    status = system.rest(thread, turns=3)
    assert status["generation"] == 2
    runs = system.runs(thread)
    assert [(run["generation"], run["status"], run["turns"]) for run in runs] == [
        (1, "imported", 2),
        (2, "waiting", 1),
    ]
    assert runs[0]["stopped_at"] == 1_700_000_007

    (call,) = system.get(system.of_thread(thread, "/runs/2"))["model_calls"]
    prompt = call["prompt"]
    assert prompt["system"] == "You are an old hand."
    shown = [(message["role"], message["content"]) for message in prompt["messages"]]
    assert shown == [
        ("user", "Note  milk"),
        ("assistant", ""),
        ("tool", "Noted"),
        ("assistant", "It is noted."),
        ("user", "How many?"),
        ("assistant", "I count."),
        ("user", "3"),
        ("assistant", "Three."),
        ("user", "Thanks"),
    ]
    assert prompt["messages"][1]["tool_calls"][0]["arguments"] == {"text": "milk"}


@ONLY_EMBEDDED
def test_people_see_everything_but_what_no_person_wrote(system: System) -> None:
    system.agent()
    thread = imported(system).thread_id
    messages = system.messages(thread)
    assert [message["content"] for message in messages] == [
        "Note  milk",
        "",
        "Noted",
        "It is noted.",
        "How many?",
        "I count.",
        "Three.",
    ]
    assert [message["timestamp"] for message in messages[:2]] == [1_700_000_000, 1_700_000_001]


@ONLY_EMBEDDED
def test_the_log_of_an_imported_thread_sends_its_readers_to_the_messages(system: System) -> None:
    system.agent()
    thread = imported(system).thread_id
    answer = system.request("GET", system.of_thread(thread, "/events"))
    assert (answer.status, answer.error) == (410, "events_expired")
    oldest = answer.body["error"]["oldest"]
    system.say(thread, "Thanks")
    system.rest(thread, turns=3)
    events = system.get(system.of_thread(thread, "/events"), after=oldest - 1)["events"]
    assert [event["seq"] for event in events] == list(range(oldest, oldest + len(events)))
    assert events[0]["event"] == "UserMessage"


@ONLY_EMBEDDED
def test_the_same_session_is_the_same_thread_however_often_it_comes(system: System) -> None:
    system.agent()
    first = imported(system)
    system.say(first.thread_id, "Thanks")
    system.rest(first.thread_id, turns=3)
    before = system.messages(first.thread_id)
    again = imported(system, {**OLD, "messages": OLD["messages"][:2], "title": "Another"})
    assert again == first.but(imported=False, turns=3)
    assert system.messages(first.thread_id) == before
    assert imported(system, {**OLD, "id": "old-2"}).thread_id != first.thread_id


def test_an_import_that_was_cut_off_begins_again(embedded: System) -> None:
    embedded.agent()
    store = embedded.runtime.store

    class Failing:
        """The store, which gives up at the aggregate."""

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def put(self, item: Item, *, if_version: int | None) -> Item:
            if item.sort == "CONVERSATION":
                raise StoreUnavailable("not now")
            return store.put(item, if_version=if_version)

    embedded.change_runtime(store=Failing())
    with pytest.raises(StoreUnavailable):
        imported(embedded)
    embedded.change_runtime(store=store)
    assert embedded.get(embedded.of_project("/chat-threads"))["threads"] == []
    shorter = {**OLD, "messages": OLD["messages"][:4]}
    thread = imported(embedded, shorter).thread_id
    assert len(embedded.messages(thread)) == 4


def test_the_summary_of_a_long_session_reaches_the_model(embedded: System) -> None:
    embedded.agent(history_window=4)
    pairs = [("user", "assistant")] * 30
    messages = [
        {"role": role, "content": f"{role} {place}"} for place, pair in enumerate(pairs) for role in pair
    ]
    thread = imported(embedded, {"id": "long", "messages": messages}).thread_id
    embedded.say(thread, "Thanks")
    embedded.rest(thread, turns=31)
    (call,) = embedded.get(embedded.of_thread(thread, "/runs/2"))["model_calls"]
    assert "User: user 20\nAssistant: assistant 20" in call["prompt"]["system"]
    assert call["prompt"]["system"].endswith("User: user 28\nAssistant: assistant 28")
    assert call["prompt"]["system"].startswith("You are a helpful assistant.")
    assert len(call["prompt"]["messages"]) == 3


def test_nobody_imports_into_what_is_not_theirs(embedded: System) -> None:
    embedded.agent()
    with pytest.raises(NotFound, match="project"):
        import_session(embedded.runtime, "stranger", embedded.project, "talker", OLD)
    with pytest.raises(NotFound, match="agent"):
        import_session(embedded.runtime, "dev", embedded.project, "nobody", OLD)
    with pytest.raises(Conflict, match="no message"):
        imported(embedded, {"id": "empty", "messages": [{"role": "assistant", "content": "Welcome"}]})


def test_an_imported_thread_waits_for_nobody(embedded: System) -> None:
    embedded.agent()
    conversation = embedded.aggregate(imported(embedded).thread_id)
    assert conversation.run.status is RunStatus.CLOSED
    assert conversation.inbox == ()


def test_the_command_imports_into_a_running_server_and_tells_what_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sessions.json"
    file.write_text(json.dumps({"sessions": [OLD, {"id": "broken"}, OLD]}), encoding="utf-8-sig")
    data = tmp_path / "data"
    with served(data) as server:
        assert cli.main(["import", str(file), "--data", str(data), "--user", "ann"]) == 1
        shown = capsys.readouterr()
        lines = shown.out.splitlines()
        assert [line.split()[0] for line in lines] == ["imported", "failed", "known"]
        assert "broken: messages: must be a list" in lines[1]
        assert shown.err == "parley: 1 of 3 sessions were not imported\n"
        with server.client("ann") as client:
            (listed,) = client.get("/api/projects/demo/chat-threads").json()["threads"]
        assert listed["title"] == "Note milk"
        assert lines[0].split()[1] == listed["thread_id"]
        answer = httpx.post(f"{server.url}/.well-known/parley-import", json={}, trust_env=False)
        assert answer.status_code == 401
        member = {"authorization": f"Bearer {server.token('ann')}"}
        answer = httpx.post(
            f"{server.url}/.well-known/parley-import", json={}, headers=member, trust_env=False
        )
        assert answer.status_code == 401


def test_the_command_opens_a_folder_that_nobody_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "session.json"
    file.write_text(json.dumps(OLD))
    arguments = ["import", str(file), "--data", str(tmp_path / "data")]
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out.startswith("imported  ")
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out.startswith("known  ")
    assert cli.main([*arguments, "--project", "nowhere"]) == 1
    assert "There is no such project." in capsys.readouterr().out
    assert cli.main([*arguments, "--agent", "nobody"]) == 1
    assert "There is no such agent." in capsys.readouterr().out


@pytest.mark.parametrize(("text", "why"), [("{", "is not JSON"), (None, "cannot be read")])
def test_a_file_that_is_none_is_one_line(
    tmp_path: Path, text: str | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "session.json"
    if text is not None:
        file.write_text(text)
    assert cli.main(["import", str(file), "--data", str(tmp_path / "data")]) == 1
    shown = capsys.readouterr().err
    assert why in shown
    assert shown.count("\n") == 1
