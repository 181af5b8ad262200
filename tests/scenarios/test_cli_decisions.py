"""Decisions from the terminal: in the conversation, from another one, by somebody else; and threads that go on."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from parley.cli import main as cli
from parley.cli import servers
from tests.support.served import Command, Served, served, until

Run = Callable[..., Any]
CHAT = "/api/projects/demo/agents/{}/chat"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def parley(server: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command against the server; gives its exit status, output and errors."""

    def run(*arguments: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        status = cli.main([*arguments, "--data", str(server.data)])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


class Typed(io.StringIO):
    """What a person types, each line when it is read."""

    def __init__(self, lines: Iterator[str]) -> None:
        super().__init__()
        self._lines = lines

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        return next(self._lines, "")


def ask(server: Served, order: str, agent: str = "general-assistant", user: str = "dev") -> tuple[str, Any]:
    """A thread in which a refund waits; it and its proposal."""
    with server.client(user) as client:
        thread = client.post(CHAT.format(agent), json={"message": f"refund {order}"}).json()["thread_id"]
        path = f"/api/projects/demo/chat-threads/{thread}"
        (proposal,) = until(lambda: client.get(path).json()["pending"])
    return thread, proposal


def order(server: Served, number: str) -> Any:
    found = server.installation.store.get("DATA#demo#marketer", f"order/{number}")
    assert found is not None
    return json.loads(found.body)


def test_arguments_are_edited_and_what_the_server_refuses_is_asked_again(parley: Run, server: Served) -> None:
    typed = 'refund A-1001\ne {"amount": "much"}\ne {"amount": "5.00"}\n'
    status, shown, _ = parley("chat", typed=typed)
    assert status == 0
    assert "! arguments: Validation failed: amount must be a number" in shown
    assert "✓ Refunded 5.00 for order A-1001." in shown


def test_the_model_sees_why_an_action_was_declined(parley: Run) -> None:
    status, shown, _ = parley("chat", typed="refund A-1002\nn the goods were fine\n")
    assert status == 0
    assert "✗ declined: the goods were fine" in shown


def test_a_message_in_place_of_an_answer_is_answered_after_the_action_is_withdrawn(parley: Run) -> None:
    status, shown, _ = parley("chat", typed="refund A-1003\nshow me top 2 products\n")
    assert status == 0
    lines = [line.strip() for line in shown.splitlines()]
    withdrawn = lines.index("✗ superseded by a newer message")
    assert lines.index('→ getTopProducts(limit=2, sortBy="revenue")') > withdrawn
    assert sum(line.startswith("agent ") for line in lines) == 2


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("queue", "· your message comes after this decision"),
        ("reject", "! An action waits for a decision in this thread"),
    ],
)
def test_where_the_agent_wants_the_decision_first_it_is_asked_again(
    parley: Run, server: Served, policy: str, words: str
) -> None:
    path = "/api/projects/demo/agents/{}"
    with server.client() as client:
        agent = client.get(path.format("general-assistant")).json()
        strict = {**agent, "agent_id": policy, "on_message_while_pending": policy}
        client.put(path.format(policy), json=strict).raise_for_status()
    typed = "refund A-1004\nshow me top 2 products\nn\n"
    status, shown, _ = parley("chat", "--agent", policy, typed=typed)
    assert status == 0
    assert words in shown
    assert shown.count("[y/n/e/w/?]") == 2
    assert "✗ declined\n" in shown
    assert ("getTopProducts" in shown) is (policy == "queue")


def test_what_waits_is_listed_and_decided_by_an_approver_who_did_not_ask(parley: Run, server: Served) -> None:
    _, proposal = ask(server, "A-1005")
    proposal_id = proposal["proposal_id"]
    status, shown, _ = parley("confirmations", "--user", "mel")
    assert (status, shown) == (0, "Nothing waits for your decision.\n"), "a member sees only their own"
    status, _, error = parley("confirm", proposal_id, "--approve", "--user", "mel")
    assert (status, error) == (1, "parley: There is no such proposal.\n")

    assert parley("token", "--user", "eva", "--role", "approver")[0] == 0
    status, shown, _ = parley("confirmations", "--user", "eva")
    assert proposal_id in shown
    assert "Refund the whole amount for order A-1005?" in shown
    assert '    order_id: "A-1005"' in shown
    changed = ["--approve", "--arguments", '{"amount": "1.00"}']
    status, shown, _ = parley("confirm", proposal_id, *changed, "--user", "eva")
    assert status == 0
    assert shown.splitlines()[-1] == "approved"
    lines = shown.splitlines()
    assert lines[0] == "Refund the whole amount for order A-1005?"
    assert {'    order_id: "A-1005"', '    amount: "1.00" (not proposed)'} <= set(lines)
    until(lambda: order(server, "A-1005")["refund"])
    assert order(server, "A-1005")["refund"]["amount_cents"] == 100

    status, shown, _ = parley("confirm", proposal_id, "--decline")
    assert (status, shown) == (1, "it was approved already; nothing changed\n")


def test_a_person_can_wait_for_somebody_else_to_decide(server: Served) -> None:
    folder = ["--data", str(server.data)]
    with Command("chat", "--message", "refund A-1006", *folder) as chatting:
        chatting.until_it_shows("[y/n/e/w/?]")
        chatting.type("w\n")
        chatting.until_it_shows("waiting for somebody to decide")
        with Command("token", "--user", "eva", "--role", "approver", *folder) as token:
            assert token.wait() == 0
        with server.client("eva") as client:
            (entry,) = client.get("/api/projects/demo/confirmations").json()["confirmations"]
            body = {"approved": True, "arguments": {**entry["arguments"], "amount": "2.00"}}
            client.post(f"/confirmations/{entry['proposal_id']}", json=body).raise_for_status()
        assert chatting.wait() == 0, chatting.errors
        assert 'approved by eva with amount="2.00"' in chatting.shown
        assert "agent  Done. Refunded 2.00 for order A-1006." in chatting.shown


def test_a_thread_goes_on_with_what_waits_in_it(parley: Run, server: Served) -> None:
    thread, _ = ask(server, "A-1007")
    status, shown, _ = parley("chat", "--thread", thread, "--message", "Thanks", "--decision", "approve")
    assert status == 0
    lines = [line.rstrip() for line in shown.splitlines()]
    assert lines[:2] == ["       · refund A-1007", "you    refund A-1007"]
    assert "       ? Refund the whole amount for order A-1007? [approve]" in lines
    assert lines.index("you    Thanks") > lines.index(
        next(line for line in lines if line.startswith("agent  Done. Refunded"))
    )
    status, shown, _ = parley("chat", "--thread", thread, typed="Bye\n/end\n")
    assert status == 0
    lines = shown.splitlines()
    assert lines[1] == 'agent  You said: "Thanks". How can I help?', "where it stood"
    assert "agent  Done. Refunded" not in shown
    status, _, error = parley("chat", "--thread", thread)
    assert (status, error) == (1, "parley: this conversation is over: it was ended with /end\n")
    status, _, error = parley("chat", "--thread", "nope")
    assert (status, error) == (1, "parley: There is no such thread.\n")


def test_a_predefined_message_is_sent_by_its_id(parley: Run) -> None:
    _, shown, _ = parley("agents")
    row = next(line for line in shown.splitlines() if line.startswith("general-assistant"))
    assert row.split("  ")[-1].startswith("top-products, ")
    status, shown, _ = parley("chat", "--predefined", "top-products", "--message", "Thanks")
    assert status == 0
    spoken = [line for line in shown.splitlines() if line.startswith("you ")]
    assert spoken == ["you    Show me the top 5 products", "you    Thanks"]
    status, _, error = parley("chat", "--predefined", "nothing")
    assert status == 1
    assert "predefined_message" in error


def test_the_latest_threads_are_listed_with_the_last_used_first(parley: Run, server: Served) -> None:
    for message in ("Hello", "Two\nlines"):
        assert parley("chat", "--user", "tom", "--message", message)[0] == 0
    status, shown, _ = parley("threads", "--user", "tom")
    assert status == 0
    head, *rows = shown.splitlines()
    assert head.split() == ["thread", "updated", "phase", "agent", "title"]
    assert [row.split("  ")[-1] for row in rows] == ["Two lines", "Hello"]
    status, shown, _ = parley("chat", "--user", "tom", "--thread", rows[1].split()[0], "--message", "Again")
    assert status == 0
    status, shown, _ = parley("threads", "--user", "tom", "--limit", "1")
    assert [row.split("  ")[-1] for row in shown.splitlines()[1:]] == ["Hello"]


def test_a_chat_outlives_the_chat_whose_server_it_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ["--data", str(tmp_path)]
    monkeypatch.setattr(servers, "_COMES_BACK_SECONDS", 0.1)
    with Command("chat", *folder) as first:
        first.type("Hello\n")
        first.until_it_shows("agent  You said")

        def lines() -> Iterator[str]:
            yield "refund A-1001\n"
            first.type("/end\n")
            assert first.wait() == 0, first.errors
            yield from ("y\n", "/end\n")

        monkeypatch.setattr(sys, "stdin", Typed(lines()))
        assert cli.main(["chat", *folder]) == 0
    shown = capsys.readouterr()
    assert "agent  Done. Refunded" in shown.out
    assert shown.err == ""


@pytest.mark.parametrize("project", ["a b", "../x", "é", "x" * 65, "-x"])
def test_a_project_that_no_route_can_reach_is_not_made(parley: Run, server: Served, project: str) -> None:
    status, _, error = parley("token", f"--project={project}")
    assert status == 2
    assert error.startswith(f"parley: {project!r} is no project id: ")
    assert error.count("\n") == 1


def test_the_only_owner_of_a_project_stays_one(parley: Run) -> None:
    status, _, error = parley("token", "--user", "ann", "--project", "new", "--role", "member")
    assert status == 1
    assert "make somebody else one first" in error


def test_ctrl_c_while_a_command_starts_is_no_traceback(tmp_path: Path) -> None:
    with Command("chat", "--message", "Hello", "--data", str(tmp_path)) as chatting:
        until((tmp_path / "lock").exists)
        chatting.process.send_signal(signal.SIGINT)
        # On a busy machine the signal may come when all is said already.
        assert chatting.wait() in (130, 1) or "agent  You said" in chatting.shown
        assert "Traceback" not in chatting.errors
