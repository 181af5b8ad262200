"""Functions over HTTP, against a real server: what goes out."""

from __future__ import annotations

import pytest

from parley.domain.errors import StoreUnavailable
from parley.turns.function_ports import FunctionOutcome
from tests.remote.conftest import MAYBE, NOTHING, SECRET, Elsewhere
from tests.support.wire_server import WireServer, json_answer


def test_arguments_go_out_as_json_and_who_calls_in_headers(server: WireServer, elsewhere: Elsewhere) -> None:
    server.answers.append(json_answer({"content": "Ordered.", "additional_data": {"order": 7}}))
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
    server.answers.append(json_answer("fine"))
    elsewhere().of("http", url=server.url, secret="SHOP_KEY", secret_header="X-Api-Key")
    assert server.received[0].headers["x-api-key"] == SECRET
    assert "authorization" not in server.received[0].headers


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_method_without_a_body_carries_arguments_in_the_query(
    server: WireServer, elsewhere: Elsewhere, method: str
) -> None:
    server.answers.append(json_answer("fine"))
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
    server.answers.extend([json_answer("fine"), json_answer("fine")])
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
    server.answers.append(json_answer("fine"))
    elsewhere(user_id="auth0|ünï\r\nX-Evil: 1%").of("http", url=server.url)
    headers = server.received[0].headers
    assert headers["parley-user"] == "auth0|%C3%BCn%C3%AF%0D%0AX-Evil: 1%25"
    assert "x-evil" not in headers


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


def test_headers_of_the_agent_are_in_front_of_the_usual_ones_and_behind_parleys(
    server: WireServer, elsewhere: Elsewhere
) -> None:
    server.answers.append(json_answer("fine"))
    elsewhere().of("http", url=server.url, headers={"Accept": "text/plain", "USER-AGENT": "shop"})
    headers = server.received[0].headers
    assert (headers["accept"], headers["user-agent"]) == ("text/plain", "shop")
    assert headers["accept-encoding"] == "identity"
