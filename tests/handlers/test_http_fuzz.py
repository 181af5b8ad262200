"""Whatever is sent to whichever route: an answer in one of the known forms, never a crash, never another status."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from on_http import api
from tests.support.backends import embedded_system
from tests.support.systems import System

STATUSES = {200, 400, 404, 409, 410, 422, 429}
WORDS = [
    "message",
    "predefined_message",
    "client_message_id",
    "turns_per_run",
    "inactivity_seconds",
    "generation",
    "approved",
    "arguments",
    "reason",
    "name",
    "role",
    "agent_id",
    "provider",
    "model",
    "settings",
    "functions",
    "implementation",
    "kind",
    "class_name",
]
NAMES = st.sampled_from(
    ["demo", "talker", "dev", "a1", "scripted", "owner", "class", "note", "/end", "", "1"]
)
TEXT = st.text(st.characters(codec=None, categories=None), max_size=40)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | NAMES | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | TEXT, inner, max_size=6)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=8)
BODIES = st.none() | TEXT | (OBJECTS | VALUES).map(json.dumps)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "content-type": st.sampled_from(
            [
                "application/json",
                "",
                "text/plain",
                "application/x-www-form-urlencoded",
                "multipart/form-data; boundary=x",
            ]
        ),
        "idempotency-key": st.text(st.characters(codec="latin-1"), max_size=220),
    },
)
QUERIES = st.dictionaries(
    st.sampled_from(["limit", "cursor", "after", "wait", "subthread", "other"]),
    st.integers(-2, 2000).map(str) | st.text(st.characters(codec="utf-8"), max_size=20),
    max_size=3,
).filter(lambda query: not _waits(query.get("wait", "0")))
SEGMENT = st.sampled_from(["demo", "talker", "1", "nothing"]) | st.text(
    st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=20
)


def _waits(value: str) -> bool:
    """The clock stands still here: a request that may wait would wait for ever."""
    try:
        return 0 < float(value) <= 20
    except ValueError:
        return False


def assert_plain(message: str) -> None:
    """The words are ours, not those of the library that found the fault."""
    assert message.endswith(".")
    assert not re.search(
        "Input should|Value error|validation error|should have|Field required|Unable to", message
    )


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with embedded_system(tmp_path_factory.mktemp("fuzz")) as system:
        system.agent()
        yield system


@pytest.fixture(scope="module")
def thread(system: System) -> str:
    thread = system.start("hello", "talker")
    system.rest(thread)
    return thread


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_any_request_is_answered_in_a_known_form(system: System, thread: str, data: st.DataObject) -> None:
    method, template = data.draw(st.sampled_from(api.routes()))
    path = "/".join(
        data.draw(SEGMENT | st.just(thread)) if part.startswith("{") else part for part in template.split("/")
    )
    body, headers, query = data.draw(BODIES), data.draw(HEADERS), data.draw(QUERIES)
    answer = system.request(method, path, raw=body, headers=headers, query=query)
    assert answer.status in STATUSES, answer.text
    if answer.status != 200:
        assert set(answer.body) == {"error"}
        assert isinstance(answer.error, str)
        assert_plain(answer.body["error"]["message"])
    answer.text.encode()


@settings(max_examples=100)
@given(
    body=OBJECTS,
    fields=st.fixed_dictionaries({"agent_id": st.just("a1"), "name": NAMES | TEXT, "model": TEXT}),
)
def test_an_agent_that_was_accepted_can_be_read_and_listed(
    system: System, body: dict[str, Any], fields: dict[str, Any]
) -> None:
    path = system.of_project("/agents/a1")
    answer = system.request("PUT", path, body={**body, **fields, "provider": "scripted"})
    assert answer.status in (200, 400, 422), answer.text
    if answer.status == 200:
        assert system.get(path) == answer.body
    else:
        assert_plain(answer.body["error"]["message"])
    assert system.get(system.of_project("/agents"))["unreadable"] == []
