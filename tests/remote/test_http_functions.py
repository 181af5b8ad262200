"""Functions over HTTP, against a real server: what goes out, what comes back, and what a bad answer is called."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from parley.domain.errors import StoreUnavailable
from parley.tools import http_calls
from parley.tools.answers import LARGEST_ANSWER, NOTHING_SAID
from parley.tools.hosts import HostRules
from parley.turns.function_ports import FunctionOutcome
from tests.remote.conftest import SECRET, Elsewhere
from tests.support.tls import tls_server
from tests.support.wire_server import Answer, WireServer

JSON = {"content-type": "application/json"}
TEXT = {"content-type": "text/plain; charset=utf-8"}
LATIN = {"content-type": "text/plain; charset=latin-1"}
MAYBE = " It may or may not have acted."
NOTHING = " Nothing was done."


def answer(body: Any, status: int = 200, **more: Any) -> Answer:
    return Answer((json.dumps(body).encode(),), status, JSON, **more)


def test_arguments_go_out_as_json_and_who_calls_in_headers(server: WireServer, elsewhere: Elsewhere) -> None:
    server.answers.append(answer({"content": "Ordered.", "additional_data": {"order": 7}}))
    outcome = elsewhere({"items": ["é", 1], "note": None}).of(
        "http", url=f"{server.url}/orders?shop=1", headers={"X-Shop": "eu"}, secret="SHOP_KEY"
    )
    assert outcome == FunctionOutcome("Ordered.", True, {"order": 7})
    (received,) = server.received
    assert (received.method, received.path) == ("POST", "/orders?shop=1")
    assert received.body == {"items": ["é", 1], "note": None}
    headers = received.headers
    assert headers["idempotency-key"] == "key-1"
    assert headers["authorization"] == f"Bearer {SECRET}"
    assert headers["x-shop"] == "eu"
    assert headers["content-type"] == "application/json"
    assert [headers[f"parley-{name}"] for name in ("user", "project", "agent", "thread")] == [
        "ana",
        "demo",
        "helper",
        "t-1",
    ]


def test_a_secret_may_have_a_header_of_its_own(server: WireServer, elsewhere: Elsewhere) -> None:
    server.answers.append(answer("fine"))
    elsewhere().of("http", url=server.url, secret="SHOP_KEY", secret_header="X-Api-Key")
    assert server.received[0].headers["x-api-key"] == SECRET
    assert "authorization" not in server.received[0].headers


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_method_without_a_body_carries_arguments_in_the_query(
    server: WireServer, elsewhere: Elsewhere, method: str
) -> None:
    server.answers.append(answer("fine"))
    arguments = {
        "name": "a&b=ü",
        "count": 2,
        "tags": ["x", "y"],
        "deep": {"a": [1]},
        "on": True,
        "none": None,
    }
    elsewhere(arguments).of("http", url=f"{server.url}/find?fixed=1", method=method)
    received = server.received[0]
    assert (received.method, received.body) == (method, None)
    assert received.path == (
        "/find?fixed=1&name=a%26b%3D%C3%BC&count=2&tags=x&tags=y&deep=%7B%22a%22%3A+%5B1%5D%7D&on=true"
    )


def test_an_argument_may_stand_in_the_address_and_then_goes_nowhere_else(
    server: WireServer, elsewhere: Elsewhere
) -> None:
    server.answers.extend([answer("fine"), answer("fine")])
    arguments = {"order_id": "A/1 ü?x=1", "count": 2, "page": 3}
    url = f"{server.url}/orders/{{order_id}}/items?page={{page}}"
    elsewhere(arguments).of("http", url=url, method="GET")
    elsewhere(arguments).of("http", url=url)
    filled = "/orders/A%2F1%20%C3%BC%3Fx%3D1/items?page=3"
    assert [(each.path, each.body) for each in server.received] == [
        (f"{filled}&count=2", None),
        (filled, {"count": 2}),
    ]


@pytest.mark.parametrize("value", ["..", ".", "", None, "../admin", "a/../../b", "..\\admin", "a/."])
def test_no_argument_leads_to_another_path(
    server: WireServer, elsewhere: Elsewhere, value: str | None
) -> None:
    outcome = elsewhere({"order_id": value}).of("http", url=f"{server.url}/orders/{{order_id}}")
    assert outcome == FunctionOutcome(
        f"shop was not called: order_id cannot stand in its address.{NOTHING}", ok=False
    )
    assert elsewhere().of("http", url=f"{server.url}/orders/{{order_id}}") == outcome
    assert server.received == []


def test_arguments_that_are_too_long_for_an_address_are_told(
    server: WireServer, elsewhere: Elsewhere
) -> None:
    outcome = elsewhere({"text": "x" * 100_000}).of("http", url=server.url, method="GET")
    words = f"shop was not called: its arguments are too long for an address.{NOTHING}"
    assert outcome == FunctionOutcome(words, ok=False)
    assert server.received == []


def test_what_nobody_foresaw_is_told_by_its_kind_and_a_store_that_fails_is_not_the_functions_fault(
    server: WireServer, elsewhere: Elsewhere, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def __init__(self, error: Exception) -> None:
            self.error = error

        def get(self, name: str) -> str | None:
            raise self.error

    elsewhere.functions._secrets = Broken(ZeroDivisionError("password=hunter2"))
    outcome = elsewhere().of("http", url=server.url, secret="SHOP_KEY")
    assert outcome == FunctionOutcome(
        f"shop failed with an unexpected error (ZeroDivisionError).{MAYBE}", ok=False
    )
    elsewhere.functions._secrets = Broken(StoreUnavailable("throttled"))
    with pytest.raises(StoreUnavailable):
        elsewhere().of("http", url=server.url, secret="SHOP_KEY")


def test_a_caller_whose_name_fits_no_header_is_written_as_in_an_address(
    server: WireServer, elsewhere: Elsewhere
) -> None:
    server.answers.append(answer("fine"))
    elsewhere(user_id="auth0|ünï\r\nX-Evil: 1%").of("http", url=server.url)
    headers = server.received[0].headers
    assert headers["parley-user"] == "auth0|%C3%BCn%C3%AF%0D%0AX-Evil: 1%25"
    assert "x-evil" not in headers


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [
        (answer("Just text."), FunctionOutcome("Just text.")),
        (Answer((b"Just text.",), headers=TEXT), FunctionOutcome("Just text.")),
        (Answer((b"No type.",)), FunctionOutcome("No type.")),
        (Answer(("Grüße".encode("latin-1"),), headers=LATIN), FunctionOutcome("Grüße")),
        (Answer((b"a\xffb",), headers=TEXT), FunctionOutcome("a\ufffdb")),
        (Answer((b"x",), headers={"content-type": "text/plain; charset=none-such"}), FunctionOutcome("x")),
        (Answer(status=204), FunctionOutcome(NOTHING_SAID)),
        (Answer((b"",), headers=JSON), FunctionOutcome(NOTHING_SAID)),
        (Answer((b" \r\n",), headers=JSON), FunctionOutcome(NOTHING_SAID)),
        (answer(None), FunctionOutcome(NOTHING_SAID)),
        (answer({"content": ""}), FunctionOutcome(NOTHING_SAID)),
        (Answer((b'\xef\xbb\xbf{"content": "a"}',), headers=JSON), FunctionOutcome("a")),
        (answer({"orders": [1, 2]}), FunctionOutcome('{"orders": [1, 2]}')),
        (answer([1, {"a": "ü"}]), FunctionOutcome('[1, {"a": "ü"}]')),
        (answer({"content": "No order.", "ok": False}), FunctionOutcome("No order.", False)),
        (answer({"content": "a", "additional_data": None, "more": 1}), FunctionOutcome("a")),
        (answer({"content": "There is no order X."}, 404), FunctionOutcome("There is no order X.", False)),
        (
            Answer((b'{"content": "\\ud83d"}',), headers={"content-type": "application/problem+json"}),
            FunctionOutcome("\ufffd"),
        ),
    ],
)  # fmt: skip
def test_an_answer_is_text_or_json_in_one_form(
    server: WireServer, elsewhere: Elsewhere, sent: Answer, outcome: FunctionOutcome
) -> None:
    server.answers.append(sent)
    assert elsewhere().of("http", url=server.url) == outcome


LEAK = "Traceback: 10.0.0.7 password=hunter2"


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (Answer((LEAK.encode(),), 400, TEXT), "answered 400 Bad Request." + NOTHING),
        (answer({"error": LEAK}, 404), "answered 404 Not Found." + NOTHING),
        (answer({"content": 5}, 403), "answered 403 Forbidden." + NOTHING),
        (Answer((LEAK.encode(),), 500, TEXT), "answered 500 Internal Server Error." + MAYBE),
        (answer({"content": LEAK}, 503), "answered 503 Service Unavailable." + MAYBE),
        (Answer((), 599), "answered 599." + MAYBE),
        (
            Answer((), 302, {"location": "http://169.254.169.254/"}),
            "answered with a redirect, which is not followed: its agent needs the new address." + MAYBE,
        ),
        (
            Answer((LEAK.encode(),), headers=JSON),
            "gave an answer that calls itself JSON and is none." + MAYBE,
        ),
        (Answer((b"\xff\xfe",), headers=JSON), "gave an answer that calls itself JSON and is none." + MAYBE),
        (
            Answer((b"[" * 100_000,), headers=JSON),
            "gave an answer that calls itself JSON and is none." + MAYBE,
        ),
        (
            answer({"content": ["a"]}),
            "gave an answer in which content is no text, ok no boolean or additional_data no object." + MAYBE,
        ),
        (
            answer({"content": "a", "additional_data": [1]}),
            "gave an answer in which content is no text, ok no boolean or additional_data no object." + MAYBE,
        ),
        (
            Answer((b"\x89PNG",), headers={"content-type": "image/png"}),
            "answered with image/png, which is neither text nor JSON." + MAYBE,
        ),
        (
            Answer((b"x" * 600_000, b"x" * 600_000), headers=TEXT),
            f"answered with more than {LARGEST_ANSWER:,} bytes." + MAYBE,
        ),
        (
            Answer((b"half",), headers=TEXT, abrupt=True),
            "broke the connection off in the middle of its answer." + MAYBE,
        ),
    ],
)
def test_a_bad_answer_is_told_in_words_and_nothing_of_it_goes_on(
    server: WireServer, elsewhere: Elsewhere, sent: Answer, words: str
) -> None:
    server.answers.append(sent)
    outcome = elsewhere().of("http", url=server.url, secret="SHOP_KEY")
    assert outcome == FunctionOutcome(f"shop {words}", ok=False)
    assert len(server.received) == 1


def test_a_secret_that_the_server_says_back_goes_no_further(server: WireServer, elsewhere: Elsewhere) -> None:
    server.answers.append(
        answer({"content": f"Bad key {SECRET}!", "additional_data": {"sent": [f"Bearer {SECRET}"]}})
    )
    outcome = elsewhere().of("http", url=server.url, secret="SHOP_KEY")
    assert outcome == FunctionOutcome("Bad key [secret]!", True, {"sent": ["Bearer [secret]"]})


@pytest.mark.parametrize("secret", ["12345678", "n12345678"])
def test_a_secret_may_come_back_as_a_number_or_behind_a_line_end(
    server: WireServer, elsewhere: Elsewhere, secret: str
) -> None:
    elsewhere.settings["PARLEY_SECRET__demo__SHOP_KEY"] = secret
    server.answers.append(answer({"content": f"a\n{secret[1:]}", "additional_data": {secret: 12345678}}))
    outcome = elsewhere().of("http", url=server.url, secret="SHOP_KEY")
    shown: Any = "[secret]" if secret == "12345678" else 12345678
    assert outcome == FunctionOutcome(f"a\n{secret[1:]}", True, {"[secret]": shown})


def test_an_address_that_no_client_takes_is_told_and_not_called(elsewhere: Elsewhere) -> None:
    unreached = elsewhere().of("http", url="http://xn--a/")
    assert unreached.content == f"shop could not be reached: the host in its address is no name.{NOTHING}"
    too_long = elsewhere({"id": "x" * 100_000}).of("http", url="http://127.0.0.1:1/{id}")
    assert too_long.content == f"shop was not called: its arguments are too long for an address.{NOTHING}"


def test_an_answer_that_does_not_come_is_given_up_after_the_limit(
    server: WireServer, elsewhere: Elsewhere
) -> None:
    server.answers.append(Answer(hold=threading.Event(), headers=TEXT))
    outcome = elsewhere(seconds=0.2).of("http", url=server.url)
    assert outcome == FunctionOutcome(f"shop did not finish its answer within 0.2 s.{MAYBE}", ok=False)
    assert server.client_left.wait(5)
    assert len(server.received) == 1


def test_a_server_that_is_not_there_is_tried_again_and_nothing_was_done(elsewhere: Elsewhere) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    outcome = elsewhere().of("http", url=f"http://127.0.0.1:{port}/")
    assert outcome == FunctionOutcome(f"shop could not be reached.{NOTHING}", ok=False)
    assert len(elsewhere.slept) == 2


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
        thread.join(5)
    assert outcome == FunctionOutcome(f"shop broke the connection off before it answered.{MAYBE}", ok=False)
    assert len(asked) == 1


@pytest.mark.parametrize("secret", ["OTHER_KEY", "OPENAI_API_KEY"])
def test_a_secret_that_is_not_the_projects_own_is_not_there(
    server: WireServer, elsewhere: Elsewhere, secret: str
) -> None:
    outcome = elsewhere().of("http", url=server.url, secret=secret)
    assert outcome.content == (
        f"shop needs a secret that this installation does not have: set PARLEY_SECRET__demo__{secret}.{NOTHING}"
    )
    other = elsewhere(project_id="other").of("http", url=server.url, secret="SHOP_KEY")
    assert "PARLEY_SECRET__other__SHOP_KEY" in other.content
    assert server.received == []


def test_a_secret_that_no_header_can_hold_is_not_sent(server: WireServer, elsewhere: Elsewhere) -> None:
    elsewhere.settings["PARLEY_SECRET__demo__SHOP_KEY"] = "a\nX-Evil: 1"
    outcome = elsewhere().of("http", url=server.url, secret="SHOP_KEY")
    assert outcome.content == (
        f"shop was not called: its secret holds characters that no header may have.{NOTHING}"
    )
    assert server.received == []


def test_a_proxy_of_the_environment_is_no_way_to_this_machine(
    server: WireServer, elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    server.answers.append(answer("fine"))
    assert elsewhere().of("http", url=server.url).ok


def test_a_name_that_leads_within_is_not_connected_to(server: WireServer) -> None:
    hosts = HostRules(frozenset({"public"}), lambda host, port: ["127.0.0.1"])
    outcome = Elsewhere(hosts)().of("http", url=f"https://shop.example.com:{server.server_address[1]}/")
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


def test_the_connection_goes_to_the_address_that_was_looked_at_and_the_certificate_is_the_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tls_server("shop.example.com", tmp_path) as server:
        trusting = ssl.create_default_context(cafile=str(server.authority))
        monkeypatch.setattr(http_calls, "tls_context", lambda: trusting)
        elsewhere = Elsewhere(HereInstead(frozenset({"public"})))
        outcome = elsewhere().of("http", url=f"https://shop.example.com:{server.port}/")
        assert outcome == FunctionOutcome("ok")
        assert server.names == ["shop.example.com"]
        assert server.hosts == [f"shop.example.com:{server.port}"]
        other = elsewhere().of("http", url=f"https://bank.example.com:{server.port}/")
        assert other.content == (
            f"shop could not be reached: its certificate is not one that is trusted here.{NOTHING}"
        )
        assert len(server.hosts) == 1


def test_headers_of_the_agent_are_in_front_of_the_usual_ones_and_behind_parleys(
    server: WireServer, elsewhere: Elsewhere
) -> None:
    server.answers.append(answer("fine"))
    elsewhere().of("http", url=server.url, headers={"Accept": "text/plain", "USER-AGENT": "shop"})
    headers = server.received[0].headers
    assert (headers["accept"], headers["user-agent"]) == ("text/plain", "shop")
    assert headers["accept-encoding"] == "identity"
