"""The command line's client of the API, and its arguments."""

import json
import time

import httpx
import pytest

from parley.cli import main as cli
from parley.cli.api import Api
from parley.cli.failure import CommandFailed, Refused, Unreachable
from parley.embedded.issuer import LocalIssuer
from tests.unit.cli_events import TOKEN

# The API's client.


def api_answering(*answers):
    queue = list(answers)

    def answer(request):
        answered = queue.pop(0)
        if isinstance(answered, Exception):
            raise answered
        return answered

    return Api("http://server", TOKEN, transport=httpx.MockTransport(answer))


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("parley.cli.api._PAUSES", (0.0, 0.0))


def test_a_server_that_is_not_there_is_said_at_once():
    with pytest.raises(Unreachable, match=r"no answer from http://server .*is the server running"):
        api_answering(httpx.ConnectError("Connection refused")).get("/x")


@pytest.mark.usefixtures("impatient")
def test_a_connection_that_breaks_later_is_tried_again():
    api = api_answering(
        httpx.Response(200, json={}),
        httpx.ReadError("reset"),
        httpx.Response(503),
        httpx.Response(200, json={"a": 1}),
    )
    api.get("/x")
    assert api.post("/x") == {"a": 1}


@pytest.mark.usefixtures("impatient")
def test_a_message_is_sent_again_with_the_same_client_id():
    seen = []

    def answer(request):
        seen.append(json.loads(request.content)["client_message_id"] if request.content else None)
        if len(seen) == 2:
            raise httpx.ReadTimeout("slow")
        return httpx.Response(200, json={"thread_id": "t", "message_id": "m"})

    api = Api("http://server", TOKEN, transport=httpx.MockTransport(answer))
    api.get("/x")
    api.say("/chat", "hello")
    assert seen[0] is None
    assert seen[1] == seen[2]


def test_refusals_carry_the_servers_words():
    with pytest.raises(Refused, match="There is no such agent") as raised:
        api_answering(
            httpx.Response(404, json={"error": {"type": "not_found", "message": "There is no such agent."}})
        ).get("/x")
    assert (raised.value.http_status, raised.value.type) == (404, "not_found")
    with pytest.raises(Refused, match="refused the token"):
        api_answering(httpx.Response(401, json={"message": "Unauthorized"})).get("/x")
    with pytest.raises(Refused, match="answered 413 Request Entity Too Large"):
        api_answering(httpx.Response(413, json={"message": "Request Entity Too Large"})).get("/x")
    with pytest.raises(Refused, match="answered 200"):
        api_answering(httpx.Response(200, text="<html>")).get("/x")


def test_an_address_that_is_none_is_a_usage_error():
    with pytest.raises(CommandFailed) as raised:
        Api("nonsense", TOKEN).get("/x")
    assert raised.value.status == 2


def test_lists_are_read_page_by_page():
    pages = [{"items": [1, 2], "next": "c"}, {"items": [3], "next": None}]
    api = api_answering(*(httpx.Response(200, json=page) for page in pages))
    assert list(api.pages("/x", "items")) == [1, 2, 3]


# Arguments.


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["chat", "--turns-per-run", "0"],
        ["chat", "--turns-per-run", "51"],
        ["chat", "--inactivity-seconds", "many"],
        ["chat", "--decision", "maybe"],
        ["chat", "--message", " "],
        ["status"],
        ["serve", "--port", "70000"],
        ["runs", "t", "zero"],
    ],
)
def test_a_wrong_call_ends_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("parley")
    assert error.endswith("--help` explains\n")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        *(
            "serve",
            "chat",
            "confirmations",
            "confirm",
            "token",
            "threads",
            "status",
            "runs",
            "events",
            "agents",
        ),
        *("import", "kb", "mcp", "prompt"),
    ],
)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: parley {command}" in capsys.readouterr().out


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("parley ")


def test_a_token_of_the_data_folder_goes_to_no_other_machine(tmp_path, capsys):
    LocalIssuer(tmp_path, time.time)
    assert cli.main(["agents", "--url", "http://agents.example", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "parley: --url needs --token: a token that the server's issuer gave\n"


def test_a_url_without_a_token_is_a_wrong_call(tmp_path, capsys):
    assert cli.main(["agents", "--url", "http://127.0.0.1:9", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "parley: --url needs --token: a token that the server's issuer gave\n"


def test_a_prompt_is_shown_or_answered_without_a_server(capsys):
    assert cli.main(["prompt", "Hello", "--show", "--system", "Be brief."]) == 0
    prompt = json.loads(capsys.readouterr().out)
    assert (prompt["model"], prompt["system"], prompt["messages"][0]["content"]) == (
        "demo",
        "Be brief.",
        "Hello",
    )
    assert cli.main(["prompt", "Hello"]) == 0
    assert "Hello" in capsys.readouterr().out


def test_a_prompt_for_an_unknown_provider_is_one_line(capsys):
    assert cli.main(["prompt", "Hello", "--provider", "nobody"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("parley: there is no provider 'nobody'")
    assert error.count("\n") == 1
