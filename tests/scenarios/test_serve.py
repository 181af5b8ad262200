import concurrent.futures
import dataclasses
import signal
import threading

import httpx
import jwt
import pytest

from parley.cli import main as cli
from parley.domain.errors import StorageError
from parley.embedded import gateway
from parley.embedded.issuer import AUDIENCE, ISSUER
from tests.support.served import PATIENCE, Command, served, until


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as made:
        yield made


def test_a_message_is_answered_over_http(client):
    accepted = client.post("/api/projects/demo/agents/general-assistant/chat", json={"message": "Hello"})
    assert accepted.status_code == 200
    assert accepted.headers["apigw-requestid"]
    thread = f"/api/projects/demo/chat-threads/{accepted.json()['thread_id']}"
    reply = until(lambda: client.get(f"{thread}/replies/1").json().get("content"))
    assert "Hello" in reply
    events = client.get(f"{thread}/events").json()["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_the_gateway_answers_for_itself_what_it_answers_on_aws(server, client):
    anonymous = httpx.get(f"{server.url}/api/projects/demo/agents")
    assert (anonymous.status_code, anonymous.json()) == (401, {"message": "Unauthorized"})
    assert anonymous.headers["www-authenticate"].startswith("Bearer")
    unknown = client.get("/api/nothing")
    assert (unknown.status_code, unknown.json()) == (404, {"message": "Not Found"})
    big = client.post(
        "/api/projects/demo/agents/general-assistant/chat", content=b"x" * (gateway.MAX_BODY + 1)
    )
    assert (big.status_code, big.json()) == (413, {"message": "Request Entity Too Large"})


def test_a_body_over_the_limit_that_hides_its_length_is_refused_too(client):
    chunks = (b"x" * 1_000_000 for _ in range(11))
    answer = client.post("/api/projects", content=chunks)
    assert answer.status_code == 413


def test_errors_of_the_api_have_the_apis_form(client):
    missing = client.get("/api/projects/demo/chat-threads/nope")
    assert missing.status_code == 404
    assert missing.json()["error"]["type"] == "not_found"


def test_the_openapi_document_is_public(server):
    document = httpx.get(f"{server.url}/openapi.json").json()
    assert document["openapi"].startswith("3.")


def test_tokens_can_be_checked_with_the_published_keys(server):
    configuration = httpx.get(f"{server.url}/.well-known/openid-configuration").json()
    assert configuration["issuer"] == ISSUER
    keys = jwt.PyJWKSet.from_dict(httpx.get(configuration["jwks_uri"]).json())
    token = server.token()
    key = keys[jwt.get_unverified_header(token)["kid"]]
    assert jwt.decode(token, key, ["RS256"], audience=AUDIENCE, issuer=ISSUER)["sub"] == "dev"


def test_only_the_operator_makes_members(server, client):
    body = {"user": "eve", "project": "demo"}
    assert client.post("/.well-known/parley-members", json=body).status_code == 401
    assert httpx.post(f"{server.url}/.well-known/parley-members", json=body).status_code == 401


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/app.js", "text/javascript; charset=utf-8"),
        ("/css/chat.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
    ],
)
def test_the_page_comes_with_its_types_and_its_policy(server, path, kind):
    answer = httpx.get(server.url + path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == kind
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    again = httpx.get(server.url + path, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = httpx.head(server.url + path)
    assert (head.status_code, head.content) == (200, b"")


def test_the_page_runs_nothing_that_stands_in_its_own_text(server):
    page = httpx.get(server.url).text
    assert "<script>" not in page
    assert " style=" not in page
    assert " onclick=" not in page


@pytest.mark.parametrize(
    "path", ["/../pyproject.toml", "/..%2fpyproject.toml", "/%2e%2e/pyproject.toml", "/nope.js"]
)
def test_nothing_but_the_page_is_served(server, path):
    assert httpx.get(server.url + path).status_code == 404


def test_requests_that_wait_starve_no_others(client):
    accepted = client.post("/api/projects/demo/agents/general-assistant/chat", json={"message": "Hi"}).json()
    path = f"/api/projects/demo/chat-threads/{accepted['thread_id']}/events"
    until(lambda: client.get(path.removesuffix("/events")).json()["turns"] == 1)
    until(lambda: client.get(path).json()["events"][-1]["event"] == "ProposeActions")
    last = client.get(path).json()["next"]
    with concurrent.futures.ThreadPoolExecutor(70) as pool:
        waits = [pool.submit(client.get, path, params={"after": last, "wait": 3}) for _ in range(70)]
        assert client.get("/api/projects/demo/agents").status_code == 200
        assert not waits[0].done()
        assert all(wait.result().json()["events"] == [] for wait in waits)


def test_a_handler_that_fails_or_takes_too_long_is_answered_by_the_gateway(tmp_path, monkeypatch):
    release = threading.Event()

    def handler(event, context):
        if event["rawPath"] == "/api/providers":
            raise ZeroDivisionError
        release.wait(PATIENCE)

    def change(service):
        handlers = dataclasses.replace(service.handlers, http=handler)
        return dataclasses.replace(service, handlers=handlers)

    monkeypatch.setattr(gateway, "INTEGRATION_SECONDS", 0.05)
    with served(tmp_path, change=change) as running, running.client() as client:
        broken = client.get("/api/providers")
        assert (broken.status_code, broken.json()) == (500, {"message": "Internal Server Error"})
        slow = client.get("/api/projects/demo/agents")
        assert (slow.status_code, slow.json()) == (503, {"message": "Service Unavailable"})
        release.set()


def test_a_folder_or_port_that_is_taken_is_one_plain_line(server, capsys):
    assert cli.main(["serve", "--port", "0", "--data", str(server.data)]) == 1
    assert f"owns it and serves {server.url}" in capsys.readouterr().err
    port = server.url.rpartition(":")[2]
    assert cli.main(["serve", "--port", port, "--data", str(server.data)]) == 1
    error = capsys.readouterr().err
    assert (
        error
        == f"parley: cannot listen on 127.0.0.1 port {port}: Address already in use; try another --port\n"
    )


def test_serving_starts_with_what_one_needs_and_stops_at_a_signal(tmp_path):
    for number in (signal.SIGINT, signal.SIGTERM):
        with Command("serve", "--port", "0", "--data", str(tmp_path), "--access-log") as serving:
            url, token = serving.greeting()
            headers = {"authorization": f"Bearer {token}"}
            agents = httpx.get(f"{url}/api/projects/demo/agents?secret=1", headers=headers)
            assert agents.status_code == 200
            serving.process.send_signal(number)
            assert serving.wait() == 0
            assert "GET /api/projects/demo/agents 200" in serving.errors
            assert "secret" not in serving.errors


def test_what_was_under_way_when_the_server_was_killed_goes_on_at_the_next_start(tmp_path):
    script = [{"text": "one two three four five six seven eight nine ten", "delay": 1.0}]
    agent = {
        "agent_id": "slow",
        "name": "Slow",
        "provider": "scripted",
        "model": "demo",
        "settings": {"script": script},
    }
    with Command("serve", "--port", "0", "--data", str(tmp_path)) as serving:
        url, token = serving.greeting()
        headers = {"authorization": f"Bearer {token}"}
        agents = f"{url}/api/projects/demo/agents"
        httpx.put(f"{agents}/slow", json=agent, headers=headers).raise_for_status()
        accepted = httpx.post(f"{agents}/slow/chat", json={"message": "go"}, headers=headers)
        serving.process.kill()
    with served(tmp_path) as running, running.client() as client:
        thread = f"/api/projects/demo/chat-threads/{accepted.json()['thread_id']}"
        until(lambda: client.get(thread).json()["turns"] == 1)
        events = client.get(f"{thread}/events").json()["events"]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        ends = [event for event in events if event["event"] == "MessageEnd"]
        assert [end["data"]["content"] for end in ends] == [script[0]["text"]]


def test_a_full_disk_is_told_in_plain_words_and_held_against_nobody(tmp_path, caplog):
    def limit_pages(database, most):
        database.write(lambda connection: connection.execute(f"PRAGMA max_page_count = {most}").fetchone())

    long = {"message": "x" * 30_000}
    with served(tmp_path) as running, running.client() as client:
        accepted = client.post("/api/projects/demo/agents/general-assistant/chat", json={"message": "Hi"})
        thread = f"/api/projects/demo/chat-threads/{accepted.json()['thread_id']}"
        until(lambda: client.get(thread).json()["turns"] == 1)
        limit_pages(running.installation.database, 1)
        refused = client.post(thread, json=long)
        assert (refused.status_code, refused.json()["error"]["type"]) == (503, "storage_failed")
        assert client.get(thread).json()["queued"] == 0
        limit_pages(running.installation.database, 1_000_000)
        assert client.post(thread, json=long).status_code == 200
        until(lambda: client.get(thread).json()["turns"] == 2)
    assert "the disk is full: free some space, then try again" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_member_who_cannot_be_saved_is_told_why(tmp_path, capsys, caplog):
    def change(service):
        def enroll(user, project, role):
            raise StorageError("parley.db: the disk is full")

        return dataclasses.replace(service, enroll=enroll)

    with served(tmp_path, change=change):
        assert cli.main(["token", "--user", "ana", "--data", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.endswith("did not make ana a member of demo: parley.db: the disk is full\n")
    assert "Traceback" not in caplog.text
