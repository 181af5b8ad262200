"""What the page consists of, wherever it is served."""

import re
from pathlib import Path

from parley import page, variables

WEB = Path(__file__).parents[2] / "web"


def test_the_policy_runs_and_loads_nothing_but_the_pages_own_files() -> None:
    policy = dict(part.split(" ", 1) for part in page.content_security_policy().split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert "unsafe" not in page.content_security_policy()


def test_what_the_page_may_call_besides_its_own_origin_is_named() -> None:
    assert "connect-src 'self' wss://x.example;" in page.content_security_policy("wss://x.example")


def test_what_npm_keeps_in_a_clone_is_no_file_of_the_page(tmp_path: Path) -> None:
    for name in (
        "index.html",
        "css/a.css",
        "package.json",
        "node_modules/x/x.js",
        "notes.txt",
        "vendor/m.js",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert page.files(tmp_path).keys() == {"index.html", "css/a.css", "vendor/m.js", page.MACHINE}


def test_every_module_and_style_that_the_page_names_is_there() -> None:
    files = page.files(WEB)
    index = files[page.INDEX].read_text(encoding="utf-8")
    named = [part.split('"')[0] for part in index.split('href="')[1:] + index.split('src="')[1:]]
    assert {name for name in named if not name.startswith("#")} <= files.keys()


def imported(name: str, known: list[str]) -> list[str]:
    """The modules that a module needs before it runs, itself first; `known` are left out."""
    text = (WEB / name).read_text(encoding="utf-8")
    for given in re.findall(r'^(?:import |\} from )[^;]*?"(\.[^"]+)";', text, flags=re.MULTILINE):
        module = ((WEB / name).parent / given).resolve().relative_to(WEB).as_posix()
        if module not in known:
            known.append(module)
            imported(module, known)
    return known


def test_the_page_asks_at_once_for_every_module_that_the_chat_needs() -> None:
    index = (WEB / page.INDEX).read_text(encoding="utf-8")
    preloaded = re.findall(r'<link rel="modulepreload" href="([^"]+)">', index)
    assert set(preloaded) == set(imported("chat.js", imported("app.js", []))) | {"chat.js"}


def test_the_configuration_names_only_what_is_not_as_usual() -> None:
    assert page.config() == {}
    assert page.config(socket="wss://s", issuer="https://i", client_id="page") == {
        "socket": "wss://s",
        "sign_in": {"issuer": "https://i", "client_id": "page", "scope": "openid"},
    }
    assert page.config(issuer="https://i") == {}


def test_clients_of_a_deployed_api_are_told_where_its_sockets_are() -> None:
    deployed = {"PARLEY_SOCKET_ENDPOINT": "https://abc.execute-api.eu-central-1.amazonaws.com/live"}
    wanted = "wss://abc.execute-api.eu-central-1.amazonaws.com/live"
    assert variables.settings(deployed, chunk_milliseconds=150).socket_url == wanted
    assert variables.settings({}, chunk_milliseconds=50).socket_url is None
