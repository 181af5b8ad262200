"""What a page reads when it opens a conversation: its end first, what lies before on demand, and what waits."""

from __future__ import annotations

import pytest

from tests.support.systems import HELD, System


@pytest.mark.parametrize(
    ("system", "limit"),
    [("embedded", 1), ("embedded", 3), ("embedded", 7), ("embedded", 1000), ("aws", 3)],
    indirect=["system"],
)
def test_the_log_read_from_its_end_is_the_log(system: System, limit: int) -> None:
    system.open_shop()
    thread = system.start("Top 2 products")
    system.rest(thread, turns=1)
    system.say(thread, "Hello")
    system.rest(thread, turns=2)
    whole = system.events(thread)
    found: list[object] = []
    before: int | None = 10**11
    pages = 0
    while before is not None:
        page = system.get(system.of_thread(thread, "/events"), before=before, limit=limit)
        assert 1 <= len(page["events"]) <= limit
        assert page["next"] == (whole[-1]["seq"] if pages == 0 else before - 1)
        found = page["events"] + found
        before = page["previous"]
        pages += 1
    assert found == whole
    assert pages == -(-len(whole) // limit)
    assert system.get(system.of_thread(thread, "/events"), before=1) == {
        "events": [],
        "next": 0,
        "previous": None,
    }


def test_messages_read_from_the_newest_are_the_messages(system: System) -> None:
    system.open_shop()
    thread = system.start("Top 2 products")
    system.rest(thread, turns=1)
    system.say(thread, "Hello")
    system.rest(thread, turns=2)
    whole = system.messages(thread)
    found: list[object] = []
    cursor = ""
    while True:
        query = {"order": "newest", "limit": 2, **({"cursor": cursor} if cursor else {})}
        page = system.get(system.of_thread(thread, "/messages"), **query)
        found += page["messages"]
        if page["next"] is None:
            break
        cursor = page["next"]
    assert found[::-1] == whole


def test_what_waits_for_its_turn_is_told_in_order_with_its_words(system: System) -> None:
    system.agent(script=[{"when": "first", "text": "One.", "delay": HELD}])
    thread = system.start("first", "talker")
    system.held()
    second = system.say(thread, "second", client_message_id="c-2")
    third = system.say(thread, "third")
    status = system.status(thread)
    assert status["queued"] == 2
    assert [(entry["message_id"], entry["content"]) for entry in status["queue"]] == [
        (second, "second"),
        (third, "third"),
    ]
    assert [entry["client_message_id"] for entry in status["queue"]] == ["c-2", None]
    system.let_go()
    status = system.rest(thread, turns=3)
    assert (status["queued"], status["queue"]) == (0, [])
