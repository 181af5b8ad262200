import dataclasses
import json
from contextlib import ExitStack, suppress

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from parley import wiring
from parley.domain import keys
from parley.turns.publish import SUBSCRIBER_LIMIT
from tests.support.served import receive, served, until

CHANNEL = "App.Chat.dev.demo"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as made:
        yield made


@pytest.fixture
def socket(server, client):
    ticket = client.post("/api/socket-tickets").json()["ticket"]
    with server.socket(f"?ticket={ticket}") as opened:
        yield opened


def ask(socket, **message):
    socket.send(json.dumps(message))
    return receive(socket)


def finished_log(client, path):
    """The events of a thread whose turn is over; nothing before."""
    events = client.get(path).json()["events"]
    return events if events and events[-1]["event"] in ("ThreadEnd", "ProposeActions") else []


def test_a_ticket_comes_with_the_address_that_takes_it_where_that_is_another(server, client):
    assert client.post("/api/socket-tickets").json().keys() == {"ticket"}
    runtime = server.installation.runtime
    settings = dataclasses.replace(runtime.settings, socket_url="wss://elsewhere.example/live")
    wiring.use(dataclasses.replace(runtime, settings=settings))
    answer = client.post("/api/socket-tickets").json()
    wiring.use(runtime)
    assert answer["url"] == "wss://elsewhere.example/live"


def status_of_refusal(server, query):
    with pytest.raises(InvalidStatus) as refused:
        server.socket(query)
    return refused.value.response.status_code


def test_a_ticket_opens_one_connection(server, client):
    ticket = client.post("/api/socket-tickets").json()["ticket"]
    with server.socket(f"?ticket={ticket}") as socket:
        assert ask(socket, action="ping") == {"event": "Pong"}
    assert status_of_refusal(server, f"?ticket={ticket}") == 403


def test_a_token_opens_a_connection_of_its_user(server):
    with server.socket(f"?token={server.token('ann')}") as socket:
        subscribed = ask(socket, action="subscribe", channel="App.Chat.ann.demo")
        assert subscribed["event"] == "Subscribed"
        assert ask(socket, action="subscribe", channel=CHANNEL)["event"] == "Error"


@pytest.mark.parametrize("query", ["", "?token=", "?token=a.b.c", "?other=1"])
def test_without_a_good_ticket_or_token_there_is_no_connection(server, query):
    assert status_of_refusal(server, query) == 401


def test_other_paths_have_no_websocket(server):
    with pytest.raises(InvalidStatus) as refused:
        server.socket(f"/else?token={server.token()}")
    assert refused.value.response.status_code == 404


def test_a_subscriber_sees_a_turn_as_it_is_logged(client, socket):
    assert ask(socket, action="subscribe", channel=CHANNEL)["event"] == "Subscribed"
    accepted = client.post(
        "/api/projects/demo/agents/general-assistant/chat", json={"message": "top 3 products"}
    )
    thread = accepted.json()["thread_id"]
    frames: list[dict] = []
    while not frames or frames[-1]["event"] != "ThreadEnd":
        frame = receive(socket)
        if frame["thread_id"] == thread:
            frames.append(frame)
    path = f"/api/projects/demo/chat-threads/{thread}/events"
    logged = client.get(path).json()["events"]
    assert sorted(frames, key=lambda frame: frame["seq"]) == logged[: len(frames)]
    assert all(frame["channel"] == CHANNEL for frame in frames)


def test_a_client_that_comes_back_resumes_behind_what_it_has_seen(client, socket):
    accepted = client.post("/api/projects/demo/agents/general-assistant/chat", json={"message": "Hello"})
    thread = accepted.json()["thread_id"]
    path = f"/api/projects/demo/chat-threads/{thread}/events"
    logged = until(lambda: finished_log(client, path))
    socket.send(json.dumps({"action": "resume", "thread_id": thread, "after": 2}))
    assert [receive(socket) for _ in logged[2:]] == logged[2:]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "{}",
        '{"action": 3}',
        '{"action": "dance"}',
        '{"action": "subscribe"}',
        '{"action": "resume", "after": 1' + "0" * 400 + "}",
        '{"action": "dance", "action": "ping"}',
        "[" * 9000,
    ],
)
def test_bad_input_is_answered_and_keeps_the_connection(socket, text):
    socket.send(text)
    assert receive(socket)["event"] == "Error"
    assert ask(socket, action="ping") == {"event": "Pong"}


def test_more_connections_than_are_pushed_to_are_refused(server):
    with server.client("ida") as client, ExitStack() as opened:
        query = f"?token={server.token('ida')}"
        sockets = [opened.enter_context(server.socket(query)) for _ in range(SUBSCRIBER_LIMIT + 1)]
        answers = [ask(socket, action="subscribe", channel="App.Chat.ida.demo") for socket in sockets]
        assert [answer["event"] for answer in answers[:-1]] == ["Subscribed"] * SUBSCRIBER_LIMIT
        assert answers[-1]["data"]["type"] == "too_many_subscribers"
        assert ask(sockets[0], action="subscribe", channel="App.Chat.ida.demo")["event"] == "Subscribed"
        client.post("/api/projects/demo/agents/general-assistant/chat", json={"message": "Hello"})
        assert {receive(socket)["event"] for socket in sockets[:-1]} == {"UserMessage"}


def test_messages_of_a_connection_are_answered_in_order(socket):
    for number in range(50):
        socket.send(json.dumps({"action": f"a{number}"}))
    for number in range(50):
        assert f"'a{number}'" in receive(socket)["data"]["message"]


def closing_code(socket):
    with pytest.raises(ConnectionClosed) as closed:
        receive(socket)
    return closed.value.rcvd and closed.value.rcvd.code


def test_a_frame_over_32_kilobytes_closes_the_connection(socket):
    socket.send("x" * (32 * 1024 + 1))
    assert closing_code(socket) == 1009


def test_a_message_in_small_frames_is_taken_up_to_128_kilobytes(server):
    with server.socket(f"?token={server.token()}") as socket:
        socket.send(["x" * 30_000] * 4)
        assert receive(socket)["event"] == "Error"
        with suppress(ConnectionClosed):  # it may be closed before the last of it is sent
            socket.send(["x" * 30_000] * 5)
        assert closing_code(socket) == 1009


def test_a_binary_message_closes_the_connection(socket):
    socket.send(b"\x00")
    assert closing_code(socket) == 1003


def test_a_closed_connection_is_forgotten(server, client):
    ticket = client.post("/api/socket-tickets").json()["ticket"]
    with server.socket(f"?ticket={ticket}") as socket:
        ask(socket, action="subscribe", channel=CHANNEL)
        assert subscribers(server)
    until(lambda: not subscribers(server))


def subscribers(server):
    return server.installation.runtime.store.query(keys.channel_partition(CHANNEL), "")


def test_connections_of_the_process_before_are_forgotten_at_the_start(tmp_path):
    with served(tmp_path) as running:
        store = running.installation.runtime.store
        with running.socket(f"?token={running.token()}") as socket:
            ask(socket, action="subscribe", channel=CHANNEL)
            stale = store.query(keys.channel_partition(CHANNEL), "")
        until(lambda: not store.query(keys.channel_partition(CHANNEL), ""))
        store.put(dataclasses.replace(stale[0], version=0), if_version=0)
    with served(tmp_path) as running:
        assert subscribers(running) == []


def test_a_handler_that_fails_tells_its_client_and_keeps_the_connection(tmp_path):
    def change(service):
        def handler(event, context):
            if event.get("body") == "break":
                raise ZeroDivisionError
            return service.handlers.socket(event, context)

        return dataclasses.replace(service, handlers=dataclasses.replace(service.handlers, socket=handler))

    with served(tmp_path, change=change) as running, running.socket(f"?token={running.token()}") as socket:
        socket.send("break")
        answer = receive(socket)
        assert answer["message"] == "Internal server error"
        assert answer["connectionId"]
        assert ask(socket, action="ping") == {"event": "Pong"}


def test_a_connect_handler_that_refuses_ends_the_handshake(tmp_path):
    def change(service):
        handlers = dataclasses.replace(service.handlers, socket=lambda event, context: {"statusCode": 429})
        return dataclasses.replace(service, handlers=handlers)

    with served(tmp_path, change=change) as running:
        assert status_of_refusal(running, f"?token={running.token()}") == 429
