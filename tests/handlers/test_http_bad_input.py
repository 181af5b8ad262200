"""What the HTTP API answers to requests that it cannot accept: the right 4xx, one form, and nothing half-written."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from on_http import api
from tests.handlers.world import AGENT, CHAT, CONFIRM, MESSAGE, THREAD, World
from tests.support.client import http_event
from tests.support.soundness import assert_sound


def bad(field: str, *values: Any, **beside: Any) -> list[tuple[dict[str, Any], str]]:
    """Bodies in which ``field`` is wrong, each with the words that name it."""
    return [({**beside, field: value}, f"{field}: ") for value in values]


BODIES = [
    ("POST", CHAT),
    ("POST", THREAD),
    ("POST", CONFIRM),
    ("POST", "/api/projects"),
    ("PUT", "/api/projects/{project}/members/colleague"),
    ("PUT", "/api/projects/{project}/agents/a1"),
]
"""Every route that reads a body."""


@pytest.mark.parametrize(("method", "path"), BODIES)
@pytest.mark.parametrize(
    "raw",
    [
        None,
        "",
        " ",
        "{",
        "hello",
        "[]",
        "1",
        "null",
        '"text"',
        '{"message": NaN, "name": NaN}',
        '{"message": 1e999}',
        "[" * 100_000,
        '{"message":' * 3000,
        '{"x": ' + '{"a":' * 70 + "1" + "}" * 71,
        '{"x": "\\ud800"}',
        '{"x": ' + "9" * 5000 + "}",
        '{"approved": false, "message": "a", "name": "a", "approved": true}',
    ],
)
def test_a_body_that_is_no_json_object_is_a_bad_request(
    world: World, method: str, path: str, raw: str | None
) -> None:
    world.refused(400, "bad_request", method, path, raw=raw)


def test_a_field_that_is_in_a_body_twice_is_named(world: World) -> None:
    for raw in ('{"approved":false,"approved":true}', '{"arguments":{"a":[{"approved":1,"approved":1}]}}'):
        answer = world.refused(400, "bad_request", "POST", CONFIRM, raw=raw)
        assert answer.body["error"]["message"] == 'The body must be JSON: "approved" is in it twice.'


@pytest.mark.parametrize(("method", "path"), BODIES)
@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "image/png"])
def test_a_body_of_another_kind_is_a_bad_request(world: World, method: str, path: str, kind: str) -> None:
    world.refused(400, "bad_request", method, path, body=MESSAGE, headers={"content-type": kind})


def test_a_body_that_is_no_text_is_a_bad_request(world: World) -> None:
    event = http_event("POST", world.path(CHAT), body=base64.b64encode(b'{"message": "\xff"}').decode())
    answer = api.handler({**event, "isBase64Encoded": True}, None)
    assert answer["statusCode"] == 400
    assert json.loads(answer["body"])["error"]["type"] == "bad_request"


@pytest.mark.parametrize("path", [CHAT, THREAD])
@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "either message or predefined_message"),
        ({"message": None}, "either message or predefined_message"),
        ({"message": "a", "predefined_message": "b"}, "either message or predefined_message"),
        ({"mesage": "a"}, "unknown: mesage; accepted: message, predefined_message, client_message_id,"),
        *bad("predefined_message", "b", 5),
        *bad("message", "", "x" * 32_001, "😀" * 32_001, 1, True, ["x"], {"text": "x"}),
        *bad("turns_per_run", 0, 51, -1, "2", True, 1.5, **MESSAGE),
        *bad("inactivity_seconds", 0, 2_592_001, "60", 10**400, **MESSAGE),
        *bad("generation", 0, "1", 99, **MESSAGE),
        *bad("client_message_id", "", "x" * 201, 7, {}, "x" * 100_000, **MESSAGE),
    ],
)
def test_a_message_that_is_not_acceptable_names_the_field(
    world: World, path: str, body: dict[str, Any], place: str
) -> None:
    answer = world.refused(422, "invalid_request", "POST", path, body=body)
    assert place in answer.body["error"]["message"]
    assert "x" * 100 not in answer.text


def test_an_idempotency_key_has_the_same_bounds_as_a_client_message_id(world: World) -> None:
    key = {"idempotency-key": "x" * 201}
    answer = world.refused(422, "invalid_request", "POST", CHAT, body=MESSAGE, headers=key)
    assert answer.body["error"]["message"].startswith("idempotency-key: ")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "approved: "),
        ({"approved": False, "reasons": "x"}, "unknown: reasons; accepted: approved, arguments, reason."),
        *bad("approved", None, "yes", "true", 1, 0, [], {}),
        *bad("arguments", [], "x", 1, approved=True),
        *bad("reason", "x" * 2001, 1, approved=True),
    ],
)
def test_a_decision_must_say_yes_or_no_and_nothing_like_it(
    world: World, body: dict[str, Any], place: str
) -> None:
    answer = world.refused(422, "invalid_request", "POST", CONFIRM, body=body)
    assert answer.body["error"]["message"].startswith(place)


def test_edited_arguments_that_do_not_fit_decide_nothing(world: World) -> None:
    for arguments in ({}, {"text": ""}, {"text": 5}, {"text": "x", "more": 1}):
        body = {"approved": True, "arguments": arguments}
        world.refused(422, "invalid_arguments", "POST", CONFIRM, body=body)


A1 = "/api/projects/{project}/agents/a1"
EVE = "/api/projects/{project}/members/eve"
PREDEFINED = {"id": "x", "title": "X"}
WHOLE = {**PREDEFINED, "prompt": "Say it."}


def scripted(*steps: dict[str, Any]) -> dict[str, Any]:
    return {**AGENT, "settings": {"script": steps}}


BIG = "hunter2" * 30


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("POST", "/api/projects", {}, "name: is missing."),
        ("POST", "/api/projects", {"name": ""}, "name: must have at least 1 character."),
        ("POST", "/api/projects", {"name": BIG}, "name: must have at most 200 characters, not 210."),
        ("POST", "/api/projects", {"name": 1}, "name: must be text, not a number."),
        ("POST", "/api/projects", {"title": "Shop"}, "unknown: title; accepted: name."),
        ("PUT", EVE, {}, "role: is missing."),
        ("PUT", EVE, {"role": "king"}, "role: must be one of owner, member or approver."),
        ("PUT", "/api/projects/{project}/members/" + "e" * 2000, {"role": "member"}, "user: must have at most 200"),
        ("PUT", A1, {"nmae": BIG}, "unknown: nmae; accepted: agent_id, name, description,"),
        ("PUT", A1, {}, "agent_id: is missing; name: is missing; provider: is missing; model: is missing."),
        ("PUT", A1, {**AGENT, "agent_id": "other"}, "agent_id: must be a1, as in the path."),
        ("PUT", A1, {**AGENT, "name": ["hunter2"]}, "name: must be text, not a list."),
        ("PUT", A1, {**AGENT, "provider": "nobody"}, "provider: nobody is not one of"),
        ("PUT", A1, {**AGENT, "history_window": 0}, "history_window: must be at least 1, not 0."),
        ("PUT", A1, {**AGENT, "history_window": "ten"}, "history_window: must be a whole number."),
        ("PUT", A1, {**AGENT, "settings": []}, "settings: must be an object, not a list."),
        ("PUT", A1, {**AGENT, "settings": {"delay": "hunter2"}}, "settings.delay: must be seconds between 0 and 60."),
        ("PUT", A1, {**AGENT, "settings": {"script": "x"}}, "settings.script: must be a list, not text."),
        ("PUT", A1, scripted({"text": "a"}, {"txt": "hunter2"}), "settings.script.1: unknown: txt; accepted: when,"),
        ("PUT", A1, scripted({"text": 5}), "settings.script.0.text: must be text, not a number."),
        ("PUT", A1, scripted({"error": "hunter2"}), "settings.script.0.error.type: must be one of ProviderRate"),
        ("PUT", A1, scripted({"tool_calls": [{"arguments": {}}]}), "settings.script.0.tool_calls.0.name: is missing."),
        ("PUT", A1, {**AGENT, "on_message_while_pending": "ignore"}, "must be one of supersede, queue or reject."),
        ("PUT", A1, {**AGENT, "capabilities": {"tools": True}}, "capabilities: unknown: tools; accepted: supports_"),
        ("PUT", A1, {**AGENT, "capabilities": {"max_context_length": 0}}, "capabilities: max_context_length: must be"),
        ("PUT", A1, {**AGENT, "predefined_messages": [PREDEFINED]}, "predefined_messages.0.prompt: is missing."),
        ("PUT", A1, {**AGENT, "predefined_messages": [WHOLE, WHOLE]}, "predefined_messages: their ids must differ;"),
        ("PUT", A1, {**AGENT, "predefined_messages": [{**WHOLE, "titel": ""}]}, "messages.0: unknown: titel"),
        ("PUT", A1, {**AGENT, "images": {"modle": "x"}}, "images: unknown: modle; accepted: provider, model, size,"),
        ("PUT", A1, {**AGENT, "model": ""}, "model: must have at least 1 character."),
        ("PUT", EVE, {"role": "member", "roles": []}, "unknown: roles; accepted: role."),
        ("PUT", A1, {**AGENT, "functions": {}}, "functions: must be a list, not an object."),
        ("PUT", A1, {**AGENT, "functions": ["x"]}, "functions.0: must be an object, not text."),
        ("PUT", A1, {**AGENT, "functions": [{"name": "x"}]}, "functions.0.implementation: is missing."),
        ("PUT", A1, {**AGENT, "functions": [{"nmae": "x"}]}, "functions.0: unknown: nmae; accepted: name,"),
        ("PUT", A1, {**AGENT, "moderation": {}}, "moderation.provider: is missing."),
        ("PUT", "/api/projects/{project}/agents/a b", {**AGENT, "agent_id": "a b"}, "agent: must be 1 to 64 letters,"),
    ],
)  # fmt: skip
def test_projects_members_and_agents_are_checked_and_told_what_is_accepted(
    world: World, method: str, path: str, body: dict[str, Any], words: str
) -> None:
    answer = world.refused(422, "invalid_request", method, path, body=body)
    assert words in answer.body["error"]["message"]
    assert "hunter2" not in answer.text


def test_an_agent_cannot_name_a_function_class_that_is_not_installed(world: World) -> None:
    function = {"name": "f", "implementation": {"kind": "class", "class_name": "NoSuchClass"}}
    body = {**AGENT, "functions": [function]}
    answer = world.refused(422, "invalid_request", "PUT", "/api/projects/{project}/agents/a1", body=body)
    assert "NoSuchClass" in answer.body["error"]["message"]


@pytest.mark.parametrize(
    ("path", "query"),
    [
        *(
            ("/api/projects/{project}/chat-threads", {"limit": value})
            for value in (0, 101, -1, "x", "1.5", "")
        ),
        *(
            ("/api/projects/{project}/chat-threads", {"cursor": value})
            for value in ("!!!", "abc", "x" * 700, "é", base64.b64encode(b"THREAD#1").decode())
        ),
        *((f"{THREAD}/messages", {"cursor": value}) for value in ("abc", "!!!", "TUVTU0FHRSM")),
        (f"{THREAD}/messages", {"limit": 101}),
        (f"{THREAD}/messages", {"subthread": "x" * 201}),
        *((f"{THREAD}/events", {"after": value}) for value in (-1, "x", 10**12, "1.5")),
        *((f"{THREAD}/events", {"limit": value}) for value in (0, 1001)),
        *((f"{THREAD}/events", {"wait": value}) for value in (-1, 21, "nan", "inf", "x")),
        *((f"{THREAD}/events", {"before": value}) for value in (0, -1, "x", 10**12)),
        *((f"{THREAD}/messages", {"order": value}) for value in ("", "latest", "desc")),
        *((f"{THREAD}/replies/{value}", {}) for value in ("0", "-1", "x", "9" * 30)),
        *((f"{THREAD}/runs/{value}", {}) for value in ("0", "x", "9" * 30)),
    ],
)
def test_cursors_limits_and_numbers_are_checked(world: World, path: str, query: dict[str, Any]) -> None:
    answer = world.refused(422, "invalid_request", "GET", path, query=query)
    assert "Input should" not in answer.text


@pytest.mark.parametrize(
    "message",
    [
        "😀🎉👩‍👩‍👧‍👦",
        "a\x00b",
        "   ",
        "\u202eevil",
        "\ufeff",
        "x" * 32_000,
        "😀" * 32_000,
        "'; DROP TABLE item; --",
        "{}",
        "é\u0301",
    ],
)
def test_odd_messages_are_answered_and_kept_as_they_are(world: World, message: str) -> None:
    system = world.system
    thread = system.start(message, "talker")
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert events[0]["data"]["content"] == message
    assert system.messages(thread)[0]["content"] == message
    assert system.status(thread)["title"] == message[:200]


@pytest.mark.parametrize("client_id", ["x" * 200, "😀" * 200, "a\x00b", "#", " ", "../..", "é"])
def test_odd_client_ids_name_their_message(world: World, client_id: str) -> None:
    path = world.path(CHAT)
    body = {**MESSAGE, "client_message_id": client_id}
    first = world.system.post(path, body)
    assert world.system.post(path, body) == first
    world.system.rest(first["thread_id"], turns=1)
    listed = world.system.events(first["thread_id"])
    assert listed[0]["data"]["client_message_id"] == client_id


def test_threads_are_listed_page_by_page_though_they_began_in_the_same_instant(world: World) -> None:
    system = world.system
    path = world.path("/api/projects/{project}/chat-threads")
    started = {system.start("hello", "talker") for _ in range(5)}
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = system.get(path, **query)
        found += [thread["thread_id"] for thread in page["threads"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert len(found) == len(set(found))
    assert started <= set(found)
    for thread in started:
        system.rest(thread)
