import io
import json
import signal
import sys

import pytest

from parley.cli import main as cli
from tests.support.served import Command, served


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def parley(server, capsys, monkeypatch):
    """Runs a command against the server; gives its exit status and output."""

    def run(*arguments, typed=None):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed or ""))
        status = cli.main([*arguments, "--data", str(server.data)])
        return status, capsys.readouterr()

    return run


def put_agent(server, agent_id, script):
    agent = {
        "agent_id": agent_id,
        "name": agent_id,
        "provider": "scripted",
        "model": "demo",
        "settings": {"script": script},
    }
    with server.client() as client:
        client.put(f"/api/projects/demo/agents/{agent_id}", json=agent).raise_for_status()


def test_the_reference_run_reads_as_a_conversation(tmp_path, capsys):
    script = ["--message", "Hello", "--message", "Please refund my order", "--message", "Thanks"]
    arguments = ["chat", *script, "--turns-per-run", "2", "--decision", "approve", "--data", str(tmp_path)]
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out.splitlines() == [
        "you    Hello",
        'agent  You said: "Hello". How can I help?',
        "       next: Show the best sellers | Label the best sellers | Refund an order",
        "you    Please refund my order",
        '       → issueRefund(order_id="A-1001", reason="Please refund my order")',
        "       ? Refund the whole amount for order A-1001? [approve]",
        "       ✓ Refunded 82.00 for order A-1001.",
        "agent  Done. Refunded 82.00 for order A-1001.",
        "       next: Show the best sellers | Label the best sellers | Note a task",
        "       · continued as run 2",
        "you    Thanks",
        'agent  You said: "Thanks". How can I help?',
        "       next: Show the best sellers | Label the best sellers | Refund an order",
        "runs   1 (2 turns, continued)  2 (1 turn, waiting)",
    ]


def test_a_declined_action_is_a_reply_too(parley):
    status, shown = parley("chat", "--message", "refund A-1005", "--decision", "decline")
    assert status == 0
    assert "Refund the whole amount for order A-1005? [decline]" in shown.out
    assert "✗ declined\n" in shown.out


def test_a_subagents_work_stands_below_its_call(parley):
    status, shown = parley(
        "chat", "--message", "manage products: change label for the top 2 products", "--decision", "approve"
    )
    assert status == 0
    lines = shown.out.splitlines()
    assert lines[1].startswith("       → manageProducts(")
    assert lines[2].startswith("         product-manager ← User wants to:")
    assert any(line.startswith("         ? Change custom_label_0") for line in lines)
    assert any(line.startswith("         product-manager: Done.") for line in lines)


def test_typed_messages_and_answers_hold_a_conversation(parley):
    typed = "Hello\n\nrefund A-1006\nperhaps\ny\n/end\nnever read\n"
    status, shown = parley("chat", typed=typed)
    assert status == 0
    assert "Refund the whole amount for order A-1006? [y/n/e/w/?] [perhaps]" in shown.out
    assert "Please answer y, n, e or w; ? explains." in shown.out
    assert "? [y/n/e/w/?] [y]" in shown.out
    assert "✓ Refunded" in shown.out
    assert shown.out.splitlines()[-2:] == ["       · conversation completed", "runs   1 (2 turns, completed)"]
    assert "never read" not in shown.out


def test_the_end_of_the_input_ends_the_conversation_politely(parley):
    status, shown = parley("chat", typed="Hello\n")
    assert status == 0
    assert shown.out.splitlines()[-1].startswith("runs   1 (1 turn")


def test_with_nobody_to_ask_nothing_is_approved(parley):
    status, shown = parley("chat", "--message", "refund A-1007")
    assert status == 0
    assert "[declined: nobody answered]" in shown.out
    assert "Refunded" not in shown.out


def test_a_failed_turn_is_said_and_ends_with_status_1(parley, server):
    put_agent(server, "broken", [{"error": {"type": "ProviderUnauthorized"}}])
    status, shown = parley("chat", "--agent", "broken", "--message", "Hello", "--message", "Again")
    assert status == 1
    assert "       ! " in shown.out
    assert shown.out.count("you    ") == 2


def test_a_reply_that_does_not_come_is_given_up(parley, server):
    put_agent(server, "asleep", [{"text": "late", "delay": 10}])
    status, shown = parley("chat", "--agent", "asleep", "--message", "Hello", "--timeout", "1")
    assert status == 1
    assert shown.err == "parley: no reply: nothing happened for 1 seconds\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["chat", "--message", "x", "--agent", "nobody"], "There is no such agent."),
        (["status", "nope"], "There is no such thread."),
        (["events", "nope"], "There is no such thread."),
        (["agents", "--url", "http://127.0.0.1:9", "--token", "t"], "no answer from http://127.0.0.1:9"),
    ],
)
def test_what_cannot_be_done_is_one_plain_line(parley, arguments, line):
    status, shown = parley(*arguments)
    assert status == 1
    assert shown.err.startswith(f"parley: {line}")
    assert shown.err.count("\n") == 1


def test_a_refused_token_is_one_plain_line(parley, server):
    status, shown = parley("agents", "--url", server.url, "--token", "bad")
    assert status == 1
    assert shown.err.startswith(f"parley: {server.url} refused the token")


def test_a_printed_token_opens_the_api_to_its_user(parley, server):
    status, shown = parley("token", "--user", "new", "--project", "demo")
    assert status == 0
    status, shown = parley("agents", "--url", server.url, "--token", shown.out.strip())
    assert status == 0
    assert "general-assistant" in shown.out


def test_a_thread_can_be_looked_at(parley, server):
    parley("chat", "--user", "looker", "--message", "Hello", "--message", "/end")
    with server.client("looker") as client:
        thread = client.get("/api/projects/demo/chat-threads").json()["threads"][0]["thread_id"]
    status, shown = parley("status", thread, "--user", "looker")
    assert status == 0
    assert "phase       completed" in shown.out
    status, shown = parley("runs", thread, "--user", "looker")
    assert [line.split()[:2] for line in shown.out.splitlines()] == [["run", "status"], ["1", "completed"]]
    status, shown = parley("runs", thread, "1", "--user", "looker")
    assert "InvokeModel" in [state["name"] for state in json.loads(shown.out)["states"]]
    for extra in ([], ["--follow"]):
        status, shown = parley("events", thread, "--user", "looker", *extra)
        events = [json.loads(line) for line in shown.out.splitlines()]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert events[-1]["event"] == "ConversationCompleted"


def test_ctrl_c_cancels_the_turn(server):
    put_agent(server, "thinker", [{"text": "a long thought", "delay": 10}])
    arguments = ["--agent", "thinker", "--message", "Hello", "--data", str(server.data)]
    with Command("chat", *arguments) as chatting:
        chatting.until_it_shows("you    Hello")
        chatting.process.send_signal(signal.SIGINT)
        assert chatting.wait() == 1
        assert "✗ cancelled" in chatting.shown
        assert chatting.errors == ""


def test_a_conversation_outlives_the_death_of_its_server(tmp_path):
    folder = ["--data", str(tmp_path)]
    with Command("serve", "--port", "0", *folder) as serving:
        url, token = serving.greeting()
        server = ["--url", url, "--token", token]
        with Command("chat", *server, "--message", "Hello", "--message", "refund", *folder) as chatting:
            chatting.until_it_shows("Refund the whole amount")
            serving.process.kill()
            serving.wait()
            with Command("serve", "--port", url.rpartition(":")[2], *folder) as again:
                again.greeting()
                chatting.type("y\n")
                assert chatting.wait() == 0, chatting.errors
                assert "agent  Done. Refunded" in chatting.shown
