"""Functions that are tools of an MCP server, against a real one of the package that the client comes from."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from parley.tools import mcp_calls
from parley.turns.function_ports import FunctionOutcome
from tests.remote.conftest import MAYBE, NOTHING, SECRET, Elsewhere
from tests.support.mcp_server import ToolServer, tool_server
from tests.support.wire_server import Answer, WireServer


def test_a_tool_answers_with_its_text(tools: ToolServer, elsewhere: Elsewhere) -> None:
    outcome = elsewhere({"city": "Bern", "days": 3}).of("mcp", url=tools.url, tool="weather")
    assert outcome.content == "Bern: sun for 3 days"
    assert outcome.ok
    assert outcome.additional_data == {"structured_content": {"result": "Bern: sun for 3 days"}}


def test_structured_content_goes_beside_the_text_and_the_key_goes_out(
    tools: ToolServer, elsewhere: Elsewhere
) -> None:
    outcome = elsewhere({"item": "tea", "count": 2}).of("mcp", url=tools.url, tool="order")
    assert outcome.ok
    assert outcome.additional_data["structured_content"] == {"order": 7, "item": "tea"}
    assert tools.ordered == [{"item": "tea", "count": 2, "key": "key-1"}]


def test_what_a_model_cannot_read_is_named(tools: ToolServer, elsewhere: Elsewhere) -> None:
    outcome = elsewhere().of("mcp", url=tools.url, tool="show")
    assert outcome == FunctionOutcome(
        "First.\n\n[image/png, not shown]\n\n[report: https://example.com/report]\n\nLast."
    )


def test_a_secret_goes_out_with_every_request_and_nobody_elses(
    tools: ToolServer, elsewhere: Elsewhere
) -> None:
    tools.token = SECRET
    outcome = elsewhere({"city": "Bern"}).of("mcp", url=tools.url, tool="weather", secret="SHOP_KEY")
    assert outcome.ok
    assert {headers.get("authorization") for headers in tools.headers} == {f"Bearer {SECRET}"}
    refused = elsewhere({"city": "Bern"}).of("mcp", url=tools.url, tool="weather")
    assert refused == FunctionOutcome(f"shop answered 401.{NOTHING}", ok=False)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("refuse", {"why": "now"}, "Error executing tool refuse: No, for now."),
        ("none-such", {}, "Unknown tool: none-such"),
    ],
)
def test_what_a_server_refuses_is_told_in_its_words(
    tools: ToolServer, elsewhere: Elsewhere, tool: str, arguments: dict[str, str], words: str
) -> None:
    outcome = elsewhere(arguments).of("mcp", url=tools.url, tool=tool)
    assert not outcome.ok
    assert outcome.content == words


def test_an_answer_that_is_too_large_is_not_read(tools: ToolServer, elsewhere: Elsewhere) -> None:
    outcome = elsewhere({"size": 3_000_000}).of("mcp", url=tools.url, tool="large")
    assert not outcome.ok
    assert outcome.content.endswith(MAYBE)
    assert len(outcome.content) < 200


def test_a_tool_that_takes_too_long_is_given_up(tools: ToolServer, elsewhere: Elsewhere) -> None:
    outcome = elsewhere(seconds=0.7).of("mcp", url=tools.url, tool="wait")
    assert outcome == FunctionOutcome(f"shop did not answer within 0.7 s.{MAYBE}", ok=False)
    assert tools.held.is_set()


def test_an_argument_that_is_wanted_in_a_header_goes_there_too(
    tools: ToolServer, elsewhere: Elsewhere
) -> None:
    outcome = elsewhere({"region": "eu"}).of("mcp", url=tools.url, tool="routed")
    assert (outcome.content, outcome.ok) == ("routed by eu", True)
    assert tools.headers[-1].get("mcp-param-region") == "eu"


def test_a_session_that_does_not_end_takes_no_answer_away(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_calls, "_CLOSING_SECONDS", 0.05)

    async def breaks(scope: Any, receive: Any, send: Any) -> None:
        raise ConnectionResetError

    async def hangs(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await receive()  # until the client is gone

    with tool_server() as other:
        other.older = True
        for closing in (breaks, PlainTextResponse("no", 500), hangs):
            other.closing = closing
            outcome = elsewhere({"city": "Bern"}).of("mcp", url=other.url, tool="weather")
            assert (outcome.content, outcome.ok) == ("Bern: sun for 1 days", True)
            assert other.methods.pop() == "DELETE"


def test_an_older_server_is_understood_and_its_session_ended(elsewhere: Elsewhere) -> None:
    with tool_server() as other:
        other.older = True
        outcome = elsewhere({"item": "tea", "count": 2}).of("mcp", url=other.url, tool="order")
        assert outcome.additional_data["structured_content"] == {"order": 7, "item": "tea"}
        assert [each["key"] for each in other.ordered] == ["key-1"]
        assert other.methods[-1] == "DELETE"


def refusal(code: int, message: str, status: int = 200) -> Answer:
    """An error of JSON-RPC, to any request: its id is put in when it is sent."""
    text = json.dumps({"jsonrpc": "2.0", "id": 0, "error": {"code": code, "message": message}})
    return Answer((text.encode(),), status, {"content-type": "application/json"})


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (Answer((b"<html>10.0.0.7</html>",), headers={"content-type": "text/html"}), "failed: its server"),
        (Answer((b"{}",), headers={"content-type": "application/json"}), "failed: its server"),
        (Answer((b"not JSON",), headers={"content-type": "application/json"}), "failed: its server"),
        (Answer((b"password=hunter2",), 500), "answered 500"),
        (refusal(-32602, "city must be text"), "refused the call: city must be text. Nothing was done."),
        (refusal(-32602, "city must be text", 400), "refused the call: city must be text. Nothing was done."),
        (refusal(-32050, "password=hunter2"), "answered with error -32050."),
        (refusal(-32000, "password=hunter2", 403), "answered 403. Nothing was done."),
        (Answer((), 302, {"location": "http://169.254.169.254/"}), "answered 302"),
    ],
)
def test_what_is_no_mcp_server_is_called_so(
    server: WireServer, elsewhere: Elsewhere, sent: Answer, words: str
) -> None:
    for number in range(1, 7):
        pieces = tuple(piece.replace(b'"id": 0', f'"id": {number}'.encode()) for piece in sent.pieces)
        server.answers.append(replace(sent, pieces=pieces))
    outcome = elsewhere(seconds=5).of("mcp", url=f"{server.url}/mcp", tool="weather")
    assert not outcome.ok
    assert outcome.content.startswith(f"shop {words}"), outcome.content
    assert "hunter2" not in outcome.content
    assert "10.0.0.7" not in outcome.content


@pytest.mark.parametrize("kind", [{"json_response": True}, {"stateless": True}])
def test_the_other_ways_in_which_servers_answer_are_understood(
    elsewhere: Elsewhere, kind: dict[str, bool]
) -> None:
    with tool_server(**kind) as other:
        outcome = elsewhere({"city": "Bern"}).of("mcp", url=other.url, tool="weather")
    assert outcome.content == "Bern: sun for 1 days"
