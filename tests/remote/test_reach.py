"""Where calls of functions elsewhere go: servers that are not there, addresses, certificates."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path
from types import ModuleType

import pytest

from parley.tools import http_calls, mcp_transport
from parley.tools.hosts import HostRules
from parley.turns.function_ports import FunctionOutcome
from tests.remote.conftest import MAYBE, NOTHING, Elsewhere
from tests.support.tls import tls_server
from tests.support.wire_server import WireServer, json_answer

KINDS = pytest.mark.parametrize("kind", ["http", "mcp"])


def call(elsewhere: Elsewhere, kind: str, url: str, *, seconds: float = 10) -> FunctionOutcome:
    tool = {"tool": "weather"} if kind == "mcp" else {}
    outcome: FunctionOutcome = elsewhere(seconds=seconds).of(kind, url=url, **tool)
    return outcome


@KINDS
def test_a_server_that_is_not_there_is_tried_again_and_nothing_was_done(
    elsewhere: Elsewhere, kind: str
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    outcome = call(elsewhere, kind, f"http://127.0.0.1:{port}/")
    assert outcome == FunctionOutcome(f"shop could not be reached.{NOTHING}", ok=False)
    assert len(elsewhere.slept) == 2


@KINDS
def test_a_server_that_takes_the_connection_and_says_nothing_is_waited_for_once(
    elsewhere: Elsewhere, kind: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        outcome = call(elsewhere, kind, url, seconds=0.3)
    assert outcome == FunctionOutcome(f"shop did not answer within 0.3 s.{MAYBE}", ok=False)
    assert elsewhere.slept == []


def test_a_server_that_hangs_up_before_it_answers_is_not_asked_again(elsewhere: Elsewhere) -> None:
    asked: list[bytes] = []
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def hang_up() -> None:
            connection, _ = listening.accept()
            asked.append(connection.recv(10_000))
            connection.close()

        thread = threading.Thread(target=hang_up, daemon=True)
        thread.start()
        outcome = elsewhere().of("http", url=f"http://127.0.0.1:{listening.getsockname()[1]}/")
        thread.join(120)
    assert outcome == FunctionOutcome(f"shop broke the connection off before it answered.{MAYBE}", ok=False)
    assert len(asked) == 1


def test_an_address_that_no_client_takes_is_told_and_not_called(elsewhere: Elsewhere) -> None:
    unreached = elsewhere().of("http", url="http://xn--a/")
    assert unreached.content == f"shop could not be reached: the host in its address is no name.{NOTHING}"
    too_long = elsewhere({"id": "x" * 100_000}).of("http", url="http://127.0.0.1:1/{id}")
    assert too_long.content == f"shop was not called: its arguments are too long for an address.{NOTHING}"


def test_a_proxy_of_the_environment_is_no_way_to_this_machine(
    server: WireServer, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    server.answers.append(json_answer("fine"))
    assert elsewhere().of("http", url=server.url).ok


@KINDS
def test_a_name_that_leads_within_is_not_connected_to(server: WireServer, kind: str) -> None:
    hosts = HostRules(frozenset({"public"}), lambda host, port: ["127.0.0.1"])
    outcome = call(Elsewhere(hosts), kind, f"https://shop.example.com:{server.server_address[1]}/")
    assert outcome.content == f"shop has no public address, and those alone are allowed here.{NOTHING}"
    assert server.received == []


def test_a_name_that_leads_nowhere_could_not_be_reached() -> None:
    def resolve(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    elsewhere = Elsewhere(HostRules(frozenset({"public"}), resolve))
    outcome = elsewhere().of("http", url="https://shop.example.com/")
    assert outcome.content == f"shop could not be reached.{NOTHING}"
    assert len(elsewhere.slept) == 2


def test_rules_that_became_stricter_hold_for_agents_that_were_put_before(server: WireServer) -> None:
    outcome = Elsewhere(HostRules.of("public"))().of("http", url=server.url)
    assert outcome.content == f"shop must be reached by https here.{NOTHING}"
    assert server.received == []


class HereInstead(HostRules):
    """Lets every name through, to this machine."""

    def addresses(self, host: str, port: int) -> list[str]:
        """A first one that takes no connection, then the server's."""
        return ["127.0.0.9", "127.0.0.1"]


@pytest.mark.parametrize(
    ("kind", "module", "said", "refused"),
    [
        ("http", http_calls, "ok", ": its certificate is not one that is trusted here."),
        ("mcp", mcp_transport, "shop failed: its server did not answer as an MCP server does.", "."),
    ],
)
def test_the_connection_goes_to_the_address_that_was_looked_at_and_the_certificate_is_the_names(
    kind: str, module: ModuleType, said: str, refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tls_server("shop.example.com", tmp_path) as server:
        trusting = ssl.create_default_context(cafile=str(server.authority))
        monkeypatch.setattr(module, "tls_context", lambda: trusting)
        elsewhere = Elsewhere(HereInstead(frozenset({"public"})))
        outcome = call(elsewhere, kind, f"https://shop.example.com:{server.port}/")
        assert outcome.content.startswith(said)
        assert set(server.names) == {"shop.example.com"}
        assert set(server.hosts) == {f"shop.example.com:{server.port}"}
        asked = len(server.hosts)
        other = call(elsewhere, kind, f"https://bank.example.com:{server.port}/")
        assert other.content == f"shop could not be reached{refused}{NOTHING}"
        assert len(server.hosts) == asked
