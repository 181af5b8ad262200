"""The command line in odd surroundings: bytes that are no text, closed streams, full disks, proxies."""

import errno
import io
import sys

import httpx
import pytest

from parley.cli import main as cli
from parley.cli.api import Api
from parley.cli.failure import CommandFailed
from parley.cli.inspect import table
from parley.cli.terminal import Terminal
from parley.tools.hosts import on_this_machine

NO_TEXT = "\udcff"
"""What Python makes of the byte 0xff in an argument."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["chat", "--message", NO_TEXT],
        ["chat", "--agent", NO_TEXT],
        ["status", NO_TEXT],
        ["token", "--user", NO_TEXT],
        ["prompt", NO_TEXT],
        ["chat", "--token", ""],
        ["chat", "--token", "secr\u00e9t"],
        ["chat", "--token", "secret\nword"],
        ["chat", "--url", ""],
        ["token", "--user", ""],
        ["agents", "--project", ""],
        ["events", ""],
        ["chat", "--data", ""],
        ["prompt", " "],
    ],
)
def test_what_no_server_could_take_is_a_wrong_call(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "secr" not in error


def test_utf8_arguments_are_read_under_a_locale_without_it(capsys):
    as_ascii_reads_it = "ü".encode().decode("ascii", "surrogateescape")
    assert cli.main(["prompt", as_ascii_reads_it]) == 0
    assert '"ü"' in capsys.readouterr().out


def test_a_terminal_that_lacks_a_character_shows_another(monkeypatch):
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    assert cli.main(["prompt", "→"]) == 0
    assert b'"?"' in shown.buffer.getvalue()


def test_closed_streams_end_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", None)
    assert cli.main(["prompt", "Hello"]) == 0
    assert sys.stdin.read() == ""
    sys.stdin.close()
    sys.stdout.close()


def test_output_that_cannot_be_written_is_one_plain_line(monkeypatch, capsys):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    monkeypatch.setattr(cli, "_drop_output", lambda: None)
    assert cli.main(["prompt", "Hello"]) == 1
    assert capsys.readouterr().err == "parley: the output cannot be written: No space left on device\n"


def test_an_interrupt_while_the_arguments_are_read_is_no_traceback(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "build_parser", interrupted)
    assert cli.main([]) == 130


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:8000", "ws://localhost/ws", "http://[::1]:80", "http://127.9.9.9"]
)
def test_a_proxy_is_no_way_to_this_machine(address):
    assert on_this_machine(address)


@pytest.mark.parametrize(
    "address", ["http://192.168.1.5", "https://parley.example.com", "http://[bad", "nonsense", ""]
)
def test_other_machines_are_reached_as_the_environment_says(address):
    assert not on_this_machine(address)


def test_a_local_server_is_reached_though_the_environment_names_a_proxy(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    answer = httpx.MockTransport(lambda request: httpx.Response(200, json={}))
    api = Api("http://127.0.0.1:8000", "t", transport=answer)
    assert api.get("/x") == {}
    api.close()
    monkeypatch.setattr(httpx, "Client", _no_socks)
    with pytest.raises(CommandFailed, match="the environment's proxy cannot be used"):
        Api("https://parley.example.com", "t")


def _no_socks(**options):
    raise ImportError("no SOCKS here")


def test_a_row_of_a_table_is_one_line_whatever_a_model_put_into_its_cells() -> None:
    out = io.StringIO()
    table(
        Terminal(out, colours=False),
        ["id", "question"],
        [["1", "Refund?\nid 2  Nothing\t\x1b[2J"], ["2", "Really?"]],
    )
    assert out.getvalue().splitlines() == ["id  question", "1   Refund? id 2 Nothing [2J", "2   Really?"]
