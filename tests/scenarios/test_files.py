"""Workspace files over HTTP, and agents that work with them."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from parley.domain.agents import AgentFunction, ClassFunction
from tests.support.backends import ONLY_EMBEDDED
from tests.support.soundness import assert_sound, named, prompts, story, told
from tests.support.systems import System

PNG = b"\x89PNG\r\n\x1a\n\x00\xff"


def put(system: System, path: str, **body: Any) -> Any:
    answer = system.request("PUT", system.of_project(f"/files/{path}"), body=body)
    assert answer.status == 200, answer.text
    return answer.body


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def test_a_file_is_put_read_listed_and_deleted(system: System) -> None:
    put(system, "docs/plan.md", content="héllo\n")
    stored = put(system, "docs/img/a b.png", content_base64=base64.b64encode(PNG).decode())
    assert stored.keys() == {"path", "size", "modified_at"}
    assert (stored["path"], stored["size"]) == ("docs/img/a b.png", len(PNG))
    text = system.get(system.of_project("/files/docs/plan.md"))
    assert (text["path"], text["content"], text["size"]) == ("docs/plan.md", "héllo\n", 7)
    assert text["modified_at"] > 1_500_000_000
    picture = system.get(system.of_project("/files/docs/img/a b.png"))
    assert base64.b64decode(picture["content_base64"]) == PNG
    assert "content" not in picture

    del text["content"]
    assert system.get(system.of_project("/files")) == {"files": [stored, text], "next": None}
    below = system.get(system.of_project("/files"), prefix="docs/p")["files"]
    assert [file["path"] for file in below] == ["docs/plan.md"]

    path = system.of_project("/files/docs/plan.md")
    assert system.request("DELETE", path).body == {"path": "docs/plan.md", "deleted": True}
    assert system.request("DELETE", path).status == 404
    assert system.request("GET", path).error == "not_found"
    assert len(system.get(system.of_project("/files"))["files"]) == 1


def test_a_put_replaces_the_whole_file_text_or_not(system: System) -> None:
    put(system, "a", content="long, longer, longest")
    put(system, "a", content_base64=base64.b64encode(b"\x00").decode())
    assert system.get(system.of_project("/files/a"))["content_base64"] == "AA=="
    put(system, "a", content="")
    assert system.get(system.of_project("/files/a"))["content"] == ""
    # Text is text, however it was put.
    put(system, "a", content_base64=base64.b64encode(b"plain").decode())
    assert system.get(system.of_project("/files/a"))["content"] == "plain"


def test_files_come_in_pages(system: System) -> None:
    paths = [f"notes/{number}.md" for number in range(5)]
    for path in paths:
        put(system, path, content=path)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = system.get(system.of_project("/files"), prefix="notes/", limit=2, **cursor)
        seen += [file["path"] for file in page["files"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert seen == paths
    wrong = system.request("GET", system.of_project("/files"), query={"cursor": "!", "prefix": "notes/"})
    assert wrong.status == 422


def test_files_are_for_members_of_the_project_only(system: System) -> None:
    put(system, "secret.md", content="secret")
    path = system.of_project("/files/secret.md")
    requests: list[tuple[str, str, Any]] = [
        ("GET", path, None),
        ("PUT", path, {"content": "mine"}),
        ("DELETE", path, None),
        ("GET", system.of_project("/files"), None),
    ]
    for method, where, body in requests:
        answer = system.request(method, where, body=body, user="stranger")
        assert (answer.status, answer.error) == (404, "not_found")
        assert "secret" not in answer.text
    other = system.post("/api/projects", {"name": "Elsewhere"}, user="stranger")["project_id"]
    listed = system.request("GET", f"/api/projects/{other}/files", user="stranger")
    assert listed.body == {"files": [], "next": None}
    assert system.get(path)["content"] == "secret"


@ONLY_EMBEDDED
def test_an_agent_sees_the_files_and_reads_them(system: System) -> None:
    put(system, "docs/plan.md", content="Ship it on Friday.")
    put(system, "README.md", content="Read me.")
    script = [
        {"tool_calls": [call("listFiles", prefix="docs/"), call("readFile", path="docs/plan.md")]},
        {"text": "On Friday."},
    ]
    thread = system.start("When?", system.agent(workspace=True, script=script))
    system.rest(thread, turns=1)
    assert_sound(system, thread)
    assert told(system, thread) == [("docs/plan.md (18 bytes)", True), ("Ship it on Friday.", True)]
    first = prompts(system, thread, thread)[0]
    tree = "## Current Project Structure\n\n- README.md\n- docs/\n  - plan.md"
    assert tree in first.system
    assert [tool.name for tool in first.tools] == ["listFiles", "readFile", "writeFile"]


@pytest.mark.parametrize(
    ("system", "approved"), [("embedded", True), ("embedded", False), ("aws", True)], indirect=["system"]
)
def test_a_file_is_written_once_a_person_has_agreed(system: System, approved: bool) -> None:
    script = [
        {"tool_calls": [call("writeFile", path="notes.md", content="milk, eggs")]},
        {"text": "So be it."},
    ]
    thread = system.start("Note it", system.agent(workspace=True, script=script))
    (proposal,) = system.pending(thread)
    assert proposal["question"] == "Write 10 characters to notes.md?"
    assert system.get(system.of_project("/files"))["files"] == []
    fields: dict[str, Any] = {"arguments": {"path": "notes.md", "content": "milk"}} if approved else {}
    system.decide(proposal, approved, **fields)
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    (response,) = named(events, "ToolResponse")
    listed = [file["path"] for file in system.get(system.of_project("/files"))["files"]]
    assert listed == (["notes.md"] if approved else [])
    if approved:
        link = response["additional_data"]["file"]["url"]
        assert system.get(link)["content"] == "milk"
        system.say(thread, "Thanks")
        system.rest(thread, turns=2)
        assert "- notes.md" in prompts(system, thread, thread)[-1].system


def test_a_path_that_leads_outside_is_refused_and_nobody_is_asked(embedded: System) -> None:
    system = embedded
    script = [{"tool_calls": [call("writeFile", path="../../parley.db", content="")]}, {"text": "Well."}]
    thread = system.start("Break out", system.agent(workspace=True, script=script))
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    assert "ActionRequiresConfirmation" not in story(events)
    assert told(system, thread) == [("Validation failed: path: must not have . or .. as a part", False)]


def test_agents_without_a_workspace_are_shown_no_files_and_cost_no_listing(embedded: System) -> None:
    system = embedded
    put(system, "secret.md", content="secret")
    system.agent()
    before = system.counts.snapshot()
    thread = system.start("Hello", "talker")
    system.rest(thread, turns=1)
    assert "blobs.list_keys" not in system.counts.since(before)[0]
    (prompt,) = prompts(system, thread, thread)
    assert "Project Structure" not in prompt.system
    assert prompt.tools == ()


def test_a_prompt_costs_one_listing_however_many_files_there_are(embedded: System) -> None:
    system = embedded
    for number in range(1005):
        system.runtime.blobs.put(f"projects/{system.project}/files/many/{number:04}", b"")
    system.agent(workspace=True)
    before = system.counts.snapshot()
    thread = system.start("Hello", "talker")
    system.rest(thread, turns=1)
    assert system.counts.since(before)[0]["blobs.list_keys"] == 1
    (prompt,) = prompts(system, thread, thread)
    assert "- … and more files than are counted here" in prompt.system
    assert len(prompt.system) < 10_000


def test_an_empty_workspace_leaves_no_trace_in_the_prompt(embedded: System) -> None:
    system = embedded
    thread = system.start("Hello", system.agent(workspace=True))
    system.rest(thread, turns=1)
    assert "Project Structure" not in prompts(system, thread, thread)[0].system


def test_a_generated_picture_is_a_file_that_a_page_can_show(system: System) -> None:
    script = [{"tool_calls": [call("generateImage", prompt="A red fox")]}, {"text": "Here it is."}]
    images = {"provider": "scripted", "model": "demo"}
    thread = system.start("Draw a fox", system.agent(images=images, script=script))
    system.rest(thread, turns=1)
    events = assert_sound(system, thread)
    (response,) = named(events, "ToolResponse")
    image = response["additional_data"]["image"]
    assert response["ok"]
    assert image["path"] in response["content"]
    shown = system.get(image["url"])
    assert base64.b64decode(shown["content_base64"]).startswith(PNG[:8])
    assert (shown["path"], shown["size"]) == (image["path"], image["size"])
    assert image["media_type"] == "image/png"


def test_the_list_of_agents_shows_the_runtimes_functions_and_the_agent_itself_does_not(
    embedded: System,
) -> None:
    system = embedded
    trusted = AgentFunction(
        name="writeFile",
        requires_user_confirmation=False,
        implementation=ClassFunction(class_name="writeFile"),
    )
    images = {"provider": "scripted", "model": "demo"}
    system.agent(workspace=True, images=images, functions=[trusted])
    (listed,) = system.get(system.of_project("/agents"))["agents"]
    functions = {function["name"]: function for function in listed["functions"]}
    assert sorted(functions) == ["generateImage", "listFiles", "readFile", "writeFile"]
    assert functions["writeFile"]["requires_user_confirmation"] is False
    assert functions["readFile"]["parameters"]["required"] == ["path"]
    own = system.get(system.of_project("/agents/talker"))
    assert [function["name"] for function in own["functions"]] == ["writeFile"]


def test_an_agents_image_model_must_be_one_that_makes_images(embedded: System) -> None:
    body = {"agent_id": "a1", "name": "A", "provider": "scripted", "model": "demo"}
    path = embedded.of_project("/agents/a1")
    answer = embedded.request("PUT", path, body={**body, "images": {"provider": "anthropic", "model": "x"}})
    assert answer.status == 422
    assert answer.body["error"]["message"].startswith("images.provider: no provider 'anthropic' makes images")
    answer = embedded.request("PUT", path, body={**body, "images": {"provider": "scripted", "model": "x"}})
    assert answer.status == 200


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("../a", {"content": ""}, 422, "path: must not have . or .. as a part."),
        ("a//b", {"content": ""}, 422, "path: must not begin or end with a slash"),
        ("a\\b", {"content": ""}, 422, "path: must not have control characters"),
        ("a\nb", {"content": ""}, 422, "path: must not have control characters"),
        ("a\n", {"content": ""}, 422, "path: must not have control characters"),
        ("é" * 257, {"content": ""}, 422, "path: must have at most 512 bytes"),
        ("a", {}, 422, "content: give either content or content_base64."),
        ("a", {"content": "", "content_base64": ""}, 422, "content: give either"),
        ("a", {"content": "\ud800"}, 400, "half of a surrogate pair"),
        ("a", {"content": 1}, 422, "content: "),
        ("a", {"content": "", "mode": 1}, 422, "unknown: mode; accepted: content, "),
        ("a", {"content_base64": "a"}, 422, "content_base64: must be base64."),
        ("a", {"content_base64": "é"}, 422, "content_base64: must be base64."),
        ("a", {"content": "x" * 1_048_577}, 413, "content: must have at most 1,048,576 bytes"),
        ("a", {"content_base64": "AAAA" * 1_400_000}, 413, "content_base64: must be at most 4,194,304"),
        ("a", [], 400, "The body must be a JSON object."),
    ],
)
def test_a_put_that_is_not_accepted_is_told_why_and_leaves_nothing(
    embedded: System, path: str, body: Any, status: int, words: str
) -> None:
    answer = embedded.request("PUT", embedded.of_project(f"/files/{path}"), body=body)
    assert answer.status == status, answer.text
    assert words in answer.body["error"]["message"]
    assert embedded.get(embedded.of_project("/files"))["files"] == []


def test_a_path_that_api_gateway_cut_at_a_question_mark_is_no_other_files(embedded: System) -> None:
    put(embedded, "a", content="kept")
    for whole in ("a?b", quote("a?b")):
        given = {"project": embedded.project, "path": whole}
        answer = embedded.request("DELETE", embedded.of_project("/files/a"), parameters=given)
        assert answer.status == 422
        assert "question marks" in json.dumps(answer.body)
    assert embedded.get(embedded.of_project("/files/a"))["content"] == "kept"


def test_the_largest_files_fit_into_what_a_function_may_take_and_give(embedded: System) -> None:
    limit = 6 * 1024 * 1024
    binary = base64.b64encode(bytes(4 * 1024 * 1024)).decode()
    for content in (
        {"content": '"' * 1024 * 1024},
        {"content": "\n" * 1024 * 1024},
        {"content": "é" * 512 * 1024},
        {"content_base64": binary},
    ):
        assert len(json.dumps(json.dumps(content))) < limit
        put(embedded, "large", **content)
        answer = embedded.request("GET", embedded.of_project("/files/large"))
        assert answer.body.items() >= content.items()
        assert len(json.dumps(answer.text)) < limit
