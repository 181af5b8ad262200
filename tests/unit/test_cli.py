import io
import json
import time

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError

from parley.cli import main as cli
from parley.cli.api import Api, Thread
from parley.cli.failure import CommandFailed, Refused, Unreachable
from parley.cli.feed import Feed
from parley.cli.terminal import Terminal, clean, shortened, terminal_for
from parley.cli.transcript import Transcript
from parley.embedded.issuer import LocalIssuer

TOKEN = "x.eyJzdWIiOiAiZGV2In0.y"  # {"sub": "dev"}
THREAD = Thread("demo", "t-1")


def event(seq, name="StreamMessageChunk", /, *, thread="t-1", turn=1, subthread=None, parent=None, **data):
    return {
        "event": name,
        "thread_id": thread,
        "subthread_id": subthread,
        "parent_thread_id": parent,
        "seq": seq,
        "turn": turn,
        "data": data,
    }


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


# The API's client.


def api_answering(*answers):
    queue = list(answers)

    def answer(request):
        answered = queue.pop(0)
        if isinstance(answered, Exception):
            raise answered
        return answered

    return Api("http://server", TOKEN, transport=httpx.MockTransport(answer))


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("parley.cli.api._PAUSES", (0.0, 0.0))


def test_a_server_that_is_not_there_is_said_at_once():
    with pytest.raises(Unreachable, match=r"no answer from http://server .*is the server running"):
        api_answering(httpx.ConnectError("Connection refused")).get("/x")


@pytest.mark.usefixtures("impatient")
def test_a_connection_that_breaks_later_is_tried_again():
    api = api_answering(
        httpx.Response(200, json={}),
        httpx.ReadError("reset"),
        httpx.Response(503),
        httpx.Response(200, json={"a": 1}),
    )
    api.get("/x")
    assert api.post("/x") == {"a": 1}


@pytest.mark.usefixtures("impatient")
def test_a_message_is_sent_again_with_the_same_client_id():
    seen = []

    def answer(request):
        seen.append(json.loads(request.content)["client_message_id"] if request.content else None)
        if len(seen) == 2:
            raise httpx.ReadTimeout("slow")
        return httpx.Response(200, json={"thread_id": "t", "message_id": "m"})

    api = Api("http://server", TOKEN, transport=httpx.MockTransport(answer))
    api.get("/x")
    api.say("/chat", "hello")
    assert seen[0] is None
    assert seen[1] == seen[2]


def test_refusals_carry_the_servers_words():
    with pytest.raises(Refused, match="There is no such agent") as raised:
        api_answering(
            httpx.Response(404, json={"error": {"type": "not_found", "message": "There is no such agent."}})
        ).get("/x")
    assert (raised.value.http_status, raised.value.type) == (404, "not_found")
    with pytest.raises(Refused, match="refused the token"):
        api_answering(httpx.Response(401, json={"message": "Unauthorized"})).get("/x")
    with pytest.raises(Refused, match="answered 413 Request Entity Too Large"):
        api_answering(httpx.Response(413, json={"message": "Request Entity Too Large"})).get("/x")
    with pytest.raises(Refused, match="answered 200"):
        api_answering(httpx.Response(200, text="<html>")).get("/x")


def test_an_address_that_is_none_is_a_usage_error():
    with pytest.raises(CommandFailed) as raised:
        Api("nonsense", TOKEN).get("/x")
    assert raised.value.status == 2


def test_lists_are_read_page_by_page():
    pages = [{"items": [1, 2], "next": "c"}, {"items": [3], "next": None}]
    api = api_answering(*(httpx.Response(200, json=page) for page in pages))
    assert list(api.pages("/x", "items")) == [1, 2, 3]


# What is shown.


def shown(*events, transcript=None):
    out = io.StringIO()
    transcript = Transcript(Terminal(out, colours=False))
    for one in events:
        transcript.show(one)
    return out.getvalue().splitlines()


def test_a_turn_reads_as_a_conversation():
    assert shown(
        event(1, "UserMessage", message_id="u", content="Hello\nyou"),
        event(2, "ThreadStart", message_id="u"),
        event(3, message_id="m", offset=0, text="Good "),
        event(4, message_id="m", offset=5, text="day\n!"),
        event(5, "MessageEnd", message_id="m", content="Good day\n!"),
        event(6, "ThreadEnd"),
    ) == ["you    Hello", "       you", "agent  Good day", "       !"]


def test_calls_show_their_arguments_and_results():
    assert shown(
        event(1, "ToolCall", tool_call_id="c", name="f", arguments={"n": 1, "s": "é"}),
        event(2, "ToolResponse", tool_call_id="c", name="f", content="two\nlines", ok=True),
        event(3, "ToolResponse", tool_call_id="d", name="f", content="no", ok=False),
    ) == ['       → f(n=1, s="é")', "       ✓ two", "         lines", "       ✗ no"]


def test_a_subagent_stands_below_the_call_that_opened_it():
    inside = {"subthread": "s", "parent": "t-1"}
    assert shown(
        event(1, "ToolCall", tool_call_id="c", name="manage", arguments={}),
        event(2, "AgentSubthreadStart", tool_call_id="c", subthread_id="s", agent_id="manager"),
        event(3, "SubthreadUserMessage", message_id="q", content="do it", **inside),
        event(4, "ToolCall", tool_call_id="d", name="f", arguments={}, **inside),
        event(5, message_id="m", offset=0, text="done", **inside),
        event(6, "MessageEnd", message_id="m", content="done", **inside),
        event(7, "ToolResponse", tool_call_id="c", name="manage", content="done", ok=True),
    ) == [
        "       → manage()",
        "         manager ← do it",
        "         → f()",
        "         manager: done",
        "       ✓ done",
    ]


def test_two_subagents_that_write_at_once_are_not_mixed_up():
    starts = [
        event(n, "AgentSubthreadStart", tool_call_id=s, subthread_id=s, agent_id=s)
        for n, s in ((1, "a"), (2, "b"))
    ]
    inside_a = {"subthread": "a", "message_id": "ma"}
    inside_b = {"subthread": "b", "message_id": "mb"}
    assert shown(
        *starts,
        event(3, offset=0, text="one ", **inside_a),
        event(4, offset=0, text="eins ", **inside_b),
        event(5, offset=4, text="two", **inside_a),
        event(6, "MessageEnd", content="one two", **inside_a),
        event(7, offset=5, text="zwei", **inside_b),
        event(8, "MessageEnd", content="eins zwei", **inside_b),
    ) == ["         a: one two", "         b: eins zwei"]


def test_a_message_that_begins_again_says_so_and_is_whole_in_the_end():
    assert shown(
        event(1, message_id="m", offset=0, text="Goo"),
        event(2, "MessageReset", message_id="m", attempt=2),
        event(3, message_id="m", offset=0, text="Good day"),
        event(4, message_id="m", offset=5, text="day"),
        event(5, "MessageEnd", message_id="m", content="Good day"),
    ) == ["agent  Goo", "       (interrupted, trying again)", "agent  Good day"]


def test_a_message_that_goes_on_behind_another_line_keeps_its_column():
    assert shown(
        event(1, message_id="m", offset=0, text="one "),
        event(2, "RunContinued", generation=2),
        event(3, message_id="m", offset=4, text="two "),
        event(4, message_id="m", offset=8, text="three"),
        event(5, "TurnCancelled", turn=1),
    ) == ["agent  one ", "       · continued as run 2", "       two three", "       ✗ cancelled"]


def test_a_message_without_pieces_is_shown_when_it_ends():
    assert shown(event(1, "MessageEnd", message_id="m", content="All at once")) == ["agent  All at once"]
    assert shown(event(1, "MessageEnd", message_id="m", content="")) == []


def test_failures_and_ends_are_said_in_plain_words():
    assert shown(
        event(1, "TurnFailed", type="ProviderOverloaded", message="The model is busy.", retryable=True),
        event(2, "TurnCancelled"),
        event(3, "RunContinued", generation=2),
        event(4, "ActionRejected", proposal_id="p", reason="expired"),
        event(5, "ActionConfirmed", proposal_id="p", reviewer="eve"),
        event(6, "ProposeActions", actions=[{"label": "More", "message": "more"}]),
        event(7, "ConversationCompleted", reason="ended"),
        event(8, "SomethingNew", anything=1),
    ) == [
        "       ! The model is busy. Trying again may help.",
        "       ✗ cancelled",
        "       · continued as run 2",
        "       ✗ nobody decided in time: expired",
        "       approved by eve",
        "       next: More",
        "       · conversation completed",
    ]


def test_nothing_that_is_said_commands_the_terminal():
    lines = shown(event(1, "MessageEnd", message_id="m", content="a\x1b[31mred\x07\r\x9b2J"))
    assert lines == ["agent  a[31mred2J"]
    assert clean("tab\tline\nend") == "tab\tline\nend"
    assert clean("pay \u202e001\u202c \u2066to\u2069 שלום") == "pay 001 to שלום"


def test_long_text_is_shortened():
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"


def test_colours_are_for_terminals_whose_users_want_them():
    class Tty(io.StringIO):
        def isatty(self):
            return True

    assert terminal_for(Tty(), no_color=False).styled("red", "x") == "\x1b[31mx\x1b[0m"
    assert terminal_for(Tty(), no_color=True).styled("red", "x") == "x"
    assert terminal_for(io.StringIO(), no_color=False).styled("red", "x") == "x"


# Arguments.


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["chat", "--turns-per-run", "0"],
        ["chat", "--turns-per-run", "51"],
        ["chat", "--inactivity-seconds", "many"],
        ["chat", "--decision", "maybe"],
        ["chat", "--message", " "],
        ["status"],
        ["serve", "--port", "70000"],
        ["runs", "t", "zero"],
    ],
)
def test_a_wrong_call_ends_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("parley")
    assert error.endswith("--help` explains\n")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        *(
            "serve",
            "chat",
            "confirmations",
            "confirm",
            "token",
            "threads",
            "status",
            "runs",
            "events",
            "agents",
        ),
        *("import", "kb", "mcp", "prompt"),
    ],
)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: parley {command}" in capsys.readouterr().out


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("parley ")


def test_a_token_of_the_data_folder_goes_to_no_other_machine(tmp_path, capsys):
    LocalIssuer(tmp_path, time.time)
    assert cli.main(["agents", "--url", "http://agents.example", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "parley: --url needs --token: a token that the server's issuer gave\n"


def test_a_url_without_a_token_is_a_wrong_call(tmp_path, capsys):
    assert cli.main(["agents", "--url", "http://127.0.0.1:9", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "parley: --url needs --token: a token that the server's issuer gave\n"


def test_a_prompt_is_shown_or_answered_without_a_server(capsys):
    assert cli.main(["prompt", "Hello", "--show", "--system", "Be brief."]) == 0
    prompt = json.loads(capsys.readouterr().out)
    assert (prompt["model"], prompt["system"], prompt["messages"][0]["content"]) == (
        "demo",
        "Be brief.",
        "Hello",
    )
    assert cli.main(["prompt", "Hello"]) == 0
    assert "Hello" in capsys.readouterr().out


def test_a_prompt_for_an_unknown_provider_is_one_line(capsys):
    assert cli.main(["prompt", "Hello", "--provider", "nobody"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("parley: there is no provider 'nobody'")
    assert error.count("\n") == 1
