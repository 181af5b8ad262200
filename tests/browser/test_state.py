"""The page's pure modules, run where they run: in the browser, over events in every order that a network makes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

from tests.browser.conftest import Server
from tests.browser.conversation import Conversation

Event = dict[str, Any]

SHOW = """async (given) => {
    const { frames, pages } = JSON.parse(given);
    const { Conversation } = await import("/conversation.js");
    const { Sequence } = await import("/sequence.js");
    const conversation = new Conversation("t");
    const sequence = new Sequence(pages.after);
    for (const events of pages.older) conversation.applyOlder(events);
    for (const event of pages.first) conversation.apply(event);
    for (const frame of frames) for (const event of sequence.take(frame)) conversation.apply(event);
    const plain = ({ kind, id, text, name, arguments: given, status, response, proposal, items, ended, over }) =>
        ({ kind, id, text, name, given, status, response, ended, over,
           outcome: proposal?.outcome, items: items?.map(plain) });
    return JSON.stringify({
        turns: conversation.order.map((number) => {
            const turn = conversation.turns.get(number);
            return { number, status: turn.status, actions: turn.actions, items: turn.items.map(plain) };
        }),
        phase: conversation.phase, gap: sequence.gap, last: sequence.last, completed: conversation.completed,
    });
}"""


@pytest.fixture(scope="module")
def story(shared: Server) -> list[Event]:
    """The events of a thread with everything in it: calls, a subagent that asks, a decision for and one against."""
    with shared.client() as client:
        conversation = Conversation(client, "Top 2 products")
        for turn, (message, approved) in enumerate(
            [
                ("Manage products: change label for top 2", True),
                ("Please refund order A-1004", False),
                ("Hello", None),
            ],
            start=2,
        ):
            conversation.say(message)
            if approved is not None:
                conversation.decide(approved)
            conversation.finish(turn)
        events = conversation.events()
    kinds = {event["event"] for event in events}
    assert kinds >= {"AgentSubthreadStart", "ActionConfirmed", "ActionRejected"}
    return events


def shown(page: Page, frames: list[Event], **pages: Any) -> dict[str, Any]:
    """The state that the page reduces from these."""
    known = {"after": 0, "older": [], "first": [], **pages}
    state: dict[str, Any] = json.loads(page.evaluate(SHOW, json.dumps({"frames": frames, "pages": known})))
    return state


def test_events_in_any_order_and_number_come_to_the_same_state(modules: Page, story: list[Event]) -> None:
    wanted = shown(modules, story)
    assert (wanted["gap"], wanted["last"], wanted["phase"]) == (False, len(story), "waiting_for_input")
    assert [turn["status"] for turn in wanted["turns"]] == ["done"] * 4

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        order = data.draw(st.permutations(range(len(story))))
        again = data.draw(st.lists(st.sampled_from(range(len(story))), max_size=30))
        assert shown(modules, [story[place] for place in [*order, *again]]) == wanted

    holds()


def test_a_snapshot_and_what_follows_join_without_a_seam(modules: Page, story: list[Event]) -> None:
    wanted = shown(modules, story)
    for cut in range(len(story) + 1):
        assert shown(modules, story, first=story[:cut], after=cut) == wanted


def test_older_turns_are_added_in_front_of_newer_ones(modules: Page, story: list[Event]) -> None:
    wanted = shown(modules, story)
    begins = [place for place, event in enumerate(story) if event["event"] == "UserMessage"]
    pages = [story[start:end] for start, end in zip(begins, [*begins[1:], len(story)], strict=True)]
    newest = pages.pop()
    assert shown(modules, [], first=newest, after=len(story), older=pages[::-1]) == wanted


def test_a_missing_event_is_a_gap_and_nothing_behind_it_is_shown(modules: Page, story: list[Event]) -> None:
    for missing in (0, 3, len(story) - 2):
        state = shown(modules, [*story[:missing], *story[missing + 1 :]])
        assert (state["gap"], state["last"]) == (True, missing)


def event(seq: int, name: str, turn: int = 1, /, **data: Any) -> Event:
    return {
        "event": name,
        "thread_id": "t",
        "subthread_id": None,
        "parent_thread_id": None,
        "seq": seq,
        "turn": turn,
        "at": 1000.0 + seq,
        "data": data,
    }


def chunk(seq: int, text: str, offset: int, attempt: int = 1) -> Event:
    return event(seq, "StreamMessageChunk", message_id="m", text=text, offset=offset, attempt=attempt)


TEXTS: list[tuple[str, list[Event], str]] = [
    ("one after the other", [chunk(1, "ab", 0), chunk(2, "cd", 2)], "abcd"),
    ("a piece that overlaps", [chunk(1, "abc", 0), chunk(2, "bcd", 1)], "abcd"),
    ("a piece that is there already", [chunk(1, "abcd", 0), chunk(2, "bc", 1)], "abcd"),
    ("offsets in code points", [chunk(1, "😀é", 0), chunk(2, "é!", 1)], "😀é!"),
    (
        "a reset",
        [chunk(1, "ab", 0), event(2, "MessageReset", message_id="m", attempt=2), chunk(3, "x", 0, 2)],
        "x",
    ),
    ("a new attempt without a reset", [chunk(1, "ab", 0), chunk(2, "xy", 0, 2)], "xy"),
    ("a late piece of an old attempt", [chunk(1, "xy", 0, 2), chunk(2, "ab", 0, 1)], "xy"),
    (
        "the end has the last word",
        [chunk(1, "ab", 0), event(2, "MessageEnd", message_id="m", content="abc")],
        "abc",
    ),
    (
        "a piece behind the end",
        [event(1, "MessageEnd", message_id="m", content="abc"), chunk(2, "abc", 0)],
        "abc",
    ),
]


@pytest.mark.parametrize(("events", "text"), [case[1:] for case in TEXTS], ids=[case[0] for case in TEXTS])
def test_text_grows_as_its_pieces_say(modules: Page, events: list[Event], text: str) -> None:
    [turn] = shown(modules, events)["turns"]
    assert [item["text"] for item in turn["items"]] == [text]


@pytest.mark.parametrize("end", ["ThreadEnd", "TurnFailed", "TurnCancelled", "UserMessage"])
def test_nothing_of_a_turn_that_is_over_is_under_way(modules: Page, end: str) -> None:
    open_call = [
        event(1, "UserMessage", message_id="u", content="x"),
        chunk(2, "half a sen", 0),
        event(3, "FunctionGenerationStart", message_id="m2", tool_call_id="c1", name="f"),
        event(4, "ToolCall", tool_call_id="c2", name="g", arguments={}),
        event(5, "ActionRequiresConfirmation", proposal_id="p", tool_call_id="c2", name="g", question="?"),
    ]
    data = {"message_id": "u2", "content": "y", "message": "bad", "reply_ref": "t/1"}
    state = shown(modules, [*open_call, event(6, end, 2 if end == "UserMessage" else 1, **data)])
    items = state["turns"][0]["items"]
    assert [item["status"] for item in items if item["kind"] == "call"] == ["stopped", "stopped"]
    assert all(item["ended"] for item in items if item["kind"] == "text")
    assert [item.get("outcome") for item in items if item["kind"] == "call"] == [None, "cancelled"]


def test_an_event_of_a_kind_that_is_not_known_changes_nothing(modules: Page) -> None:
    known = [event(1, "UserMessage", message_id="u", content="x"), event(2, "ThreadEnd", reply_ref="t/1")]
    other = [known[0], event(2, "SomethingNew", whatever=1), event(3, "ThreadEnd", reply_ref="t/1")]
    assert shown(modules, other)["turns"] == shown(modules, known)["turns"]


PIECES = [
    "# Title\n\nSome *text* and `code`\n\n",
    "- a\n- b\n  - c\n\nafter\n\n",
    "- a\n\n- b\n\n",
    "1. one\n2. two\n\n",
    "```py\nx = 1\n\ny = 2\n```\n\n",
    "| a | b |\n|---|--:|\n| 1 | 2 |\n\n",
    "> quote\nlazy\n\n",
    "Setext\n===\n\n",
    "para\n- list right behind\n\n",
    "[ref][1] then\n\n[1]: https://example.com\n\n",
    "<b>raw</b>\n\n<div>\nblock\n</div>\n\n",
    "line\r\nbreak\r\n\r\n",
    "    indented\n\n    code\n\n",
    "***\n\n",
    "~~gone~~ **bold *both***\n\n",
    "- [x] done\n- [ ] open\n\n",
]


def test_a_streamed_markdown_text_ends_as_if_it_had_come_at_once(modules: Page) -> None:
    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.integers(1, 9))
    def holds(pieces: list[str], step: int) -> None:
        streamed, whole = modules.evaluate(
            """async ({ text, step }) => {
                const { Markdown } = await import("/markdown.js");
                const made = [0, 1].map(() => document.createElement("div"));
                const [stream, once] = made.map((root) => new Markdown(root));
                for (let end = step; end < text.length; end += step) stream.set(text.slice(0, end), false);
                stream.set(text, false);
                stream.set(text, true);
                once.set(text, true);
                return made.map((root) => root.innerHTML);
            }""",
            {"text": "".join(pieces), "step": step},
        )
        assert streamed == whole

    holds()


@pytest.mark.parametrize(("ending", "word"), [("TurnFailed", "failed"), ("TurnCancelled", "stopped")])
def test_a_subagent_that_has_ended_without_a_reply_is_no_longer_at_work(
    modules: Page, ending: str, word: str
) -> None:
    def event(kind: str, subthread: str | None = None, **data: Any) -> Event:
        return {"event": kind, "turn": 1, "at": 1, "subthread_id": subthread, "data": data}

    events = [
        event("UserMessage", message_id="m", content="go"),
        event("ToolCall", tool_call_id="outer", name="ask", arguments={}),
        event("AgentSubthreadStart", tool_call_id="outer", subthread_id="s", agent_id="a"),
        event("ToolCall", "s", tool_call_id="inner", name="do", arguments={}),
        event(ending, "s", type="x", message="No."),
    ]
    frames = [{**each, "seq": seq} for seq, each in enumerate(events, start=1)]
    (turn,) = shown(modules, frames)["turns"]
    call = turn["items"][1]
    assert (turn["status"], call["status"], call["over"]) == ("open", "running", word)
    assert call["items"][0]["status"] == "stopped"
    told = {"stopped": "Stopped. It may have acted before."} if word == "stopped" else {}
    answer = event("ToolResponse", tool_call_id="outer", content="x", ok=False, additional_data=told)
    (turn,) = shown(modules, [*frames, {**answer, "seq": 6}])["turns"]
    assert turn["items"][1]["status"] == word


def test_a_subagent_goes_on_in_its_own_turn_while_older_turns_are_read(modules: Page) -> None:
    calls = modules.evaluate(
        """async () => {
          const { Conversation } = await import("/conversation.js");
          const { History } = await import("/history.js");
          const event = (kind, turn, subthread_id, data) => ({ event: kind, turn, at: 1, subthread_id, data });
          const log = [1, 2, 3].flatMap((turn) => [
            event("UserMessage", turn, null, { message_id: `m${turn}`, content: "go" }),
            event("ThreadStart", turn, null, {}),
          ]);
          log.push(event("ToolCall", 3, null, { tool_call_id: "outer", name: "ask", arguments: {} }));
          log.push(event("AgentSubthreadStart", 3, null, { tool_call_id: "outer", subthread_id: "s", agent_id: "a" }));
          const pages = [log.slice(2), log.slice(0, 2)];
          const next = log.length;
          const eventsBefore = async () => ({ events: pages.shift(), next, previous: pages.length ? 9 : null });
          const conversation = new Conversation("t");
          const history = new History({ eventsBefore }, conversation);
          const steps = [];
          while (!history.done) {
            await history.older();
            steps.push(conversation.order.length);
          }
          conversation.apply(event("ToolCall", 1, "s", { tool_call_id: "inner", name: "do", arguments: {} }));
          return { steps, calls: [...conversation.turns.get(3).calls.keys()] };
        }"""
    )
    assert calls == {"steps": [1, 3], "calls": ["outer", "inner"]}
