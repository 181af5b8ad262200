"""The command line's feed: events in order, once, whatever the connection does."""

import json

import httpx
from websockets.exceptions import ConnectionClosedError

from parley.cli.api import Api, Thread
from parley.cli.feed import Feed
from tests.unit.cli_events import TOKEN, event

THREAD = Thread("demo", "t-1")


class Server:
    """The API's answers, and a WebSocket of given frames; an exception in place of one is raised."""

    def __init__(self, *, log=(), frames=(), socket_works=True, before_subscribed=()):
        self.log = list(log)
        self.frames = list(frames)
        self.socket_works = socket_works
        self.before_subscribed = list(before_subscribed)
        self.log_reads = []
        self.waits = []
        self.sent = []
        self.connections = 0

    def answer(self, request):
        if request.url.path == "/api/socket-tickets":
            return httpx.Response(200, json={"ticket": "t"})
        after = int(request.url.params["after"])
        self.log_reads.append(after)
        self.waits.append(float(request.url.params["wait"]))
        return httpx.Response(200, json={"events": [item for item in self.log if item["seq"] > after]})

    def open_socket(self, url):
        self.connections += 1
        if not self.socket_works:
            raise OSError("no WebSocket here")
        self.frames[:0] = [*self.before_subscribed, {"event": "Subscribed"}]
        return self

    def send(self, message):
        self.sent.append(json.loads(message))

    def recv(self, timeout=None):
        frame = self.frames.pop(0) if self.frames else TimeoutError()
        if isinstance(frame, Exception):
            raise frame
        return json.dumps(frame)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        pass

    def feed(self, **options):
        api = Api("http://server", TOKEN, transport=httpx.MockTransport(self.answer))
        moments = iter(range(100_000))
        feed = Feed(api, "demo", open_socket=self.open_socket, now=lambda: next(moments) / 10)
        feed.follow(THREAD, **options)
        return feed


def seqs(feed, *, patience=10.0):
    found = []
    while (one := feed.next(patience)) is not None:
        found.append(one["seq"])
    return found


def test_frames_are_given_in_order_and_once():
    server = Server(
        log=[event(1), event(2), event(3)],
        frames=[event(1), event(1), event(2), event(2), event(1), event(3)],
    )
    assert seqs(server.feed()) == [1, 2, 3]
    assert server.sent == [{"action": "subscribe", "channel": "App.Chat.dev.demo"}]


def test_a_gap_is_filled_from_the_log():
    server = Server(log=[event(1), event(2), event(3)], frames=[event(1), event(3)])
    assert seqs(server.feed()) == [1, 2, 3]
    assert server.log_reads[0] == 1


def test_a_frame_that_came_early_is_kept_until_its_turn():
    server = Server(log=[event(1)], frames=[event(3), event(2)])
    assert seqs(server.feed()) == [1, 2, 3]


def test_silence_makes_the_feed_look_into_the_log():
    server = Server(log=[event(1), event(2)], frames=[])
    assert seqs(server.feed()) == [1, 2]


def test_other_threads_and_noise_are_passed_over():
    server = Server(log=[event(1)], frames=[event(1, thread="other"), {"event": "Pong"}, event(1)])
    assert seqs(server.feed()) == [1]


def test_a_value_too_large_for_a_frame_is_read_whole():
    whole = event(1, "ToolResponse", content="x" * 100)
    frame = {**whole, "data": {"$ref": 1}}
    feed = Server(log=[whole], frames=[frame]).feed()
    assert feed.next(3.0)["data"] == {"content": "x" * 100}


def test_a_lost_connection_is_opened_again_and_what_was_missed_is_read():
    server = Server(log=[event(1), event(2), event(3)], frames=[event(1), ConnectionClosedError(None, None)])
    assert seqs(server.feed()) == [1, 2, 3]
    assert server.connections == 2


def test_without_a_websocket_everything_comes_from_the_log_which_is_waited_at_not_asked_again_and_again():
    server = Server(log=[event(1), event(2)], socket_works=False)
    assert seqs(server.feed(), patience=0.25) == [1, 2]
    assert all(0 < wait <= 0.25 for wait in server.waits)


def test_events_that_are_older_than_the_connection_are_given_at_once():
    server = Server(log=[event(1), event(2), event(3)], frames=[])
    feed = server.feed(after=1)
    assert [feed.next(0.3)["seq"] for _ in range(2)] == [2, 3]


def test_events_of_other_threads_before_the_subscription_is_confirmed_do_no_harm():
    server = Server(log=[event(1)], before_subscribed=[event(9, thread="other")])
    assert seqs(server.feed()) == [1]
    assert server.connections == 1
