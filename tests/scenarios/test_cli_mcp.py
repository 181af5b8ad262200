"""`parley mcp` against a running server of Parley and a running MCP server."""

from __future__ import annotations

import pytest

from parley.cli import main as cli
from tests.support.mcp_server import tool_server
from tests.support.served import served


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture(scope="module")
def shop():
    with tool_server() as running:
        yield running


@pytest.fixture
def parley(server, capsys):
    """Runs a command against the server; gives its exit status and what it said."""

    def run(*arguments):
        status = cli.main([*arguments, "--data", str(server.data), "--agent", "campaign-manager"])
        said = capsys.readouterr()
        return status, [" ".join(line.split()) for line in (said.out + said.err).splitlines()]

    return run


def test_the_tools_of_a_server_are_added_changed_and_removed(parley, shop):
    status, said = parley("mcp", "add", "shop", shop.url, "--no-confirm", "order")
    assert status == 0
    assert said[0] == "function description"
    assert "shop_order runs at once Orders something." in said
    assert "shop_weather runs at once Tells the weather of a city." in said
    assert "shop_files_delete_all asks first Deletes everything." in said
    assert len(said) == 10
    assert parley("mcp", "add", "shop", shop.url) == (
        0,
        ["campaign-manager has these tools already; nothing was changed."],
    )
    status, said = parley("mcp", "add", "shop", shop.url, "--confirm", "weather")
    assert said[1:] == ["shop_weather asks first Tells the weather of a city."]
    assert parley("mcp", "remove", shop.url) == (0, ["removed 9 functions"])
    status, said = parley("mcp", "remove", shop.url)
    assert (status, said) == (1, [f"parley: campaign-manager has no function of {shop.url}"])


def test_some_tools_of_a_server_may_be_enough(parley, shop):
    status, said = parley("mcp", "add", "shop", shop.url, "--tool", "weather", "--tool", "order")
    assert (status, len(said)) == (0, 3)
    assert parley("mcp", "remove", shop.url) == (0, ["removed 2 functions"])


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--tool", "wether"], 1, "its MCP server has no tool wether; it has weather, order,"),
        (["--secret", "SHOP_KEY"], 1, "set PARLEY_SECRET__demo__SHOP_KEY"),
        (["--secret", "small"], 1, "secret"),
        (["--confirm", "a", "--no-confirm", "a"], 2, "--confirm and --no-confirm both name a"),
    ],
)
def test_what_cannot_be_added_is_told(parley, shop, arguments, status, words):
    got, said = parley("mcp", "add", "shop", shop.url, *arguments)
    assert got == status
    assert words in said[-1]


def test_a_server_that_is_not_there_is_told(parley):
    status, said = parley("mcp", "add", "shop", "http://127.0.0.1:9/mcp")
    assert status == 1
    assert "its MCP server could not be reached" in said[-1]
