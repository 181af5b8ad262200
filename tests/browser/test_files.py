"""A project's files and knowledge documents on the page."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Server

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fccff0bf1e00068602ff"
    "b8a1d3a50000000049454e44ae426082"
)
DROP = """(files) => {
  const data = new DataTransfer();
  for (const [name, text] of Object.entries(files)) data.items.add(new File([text], name));
  const view = document.querySelector(".view");
  for (const kind of ["dragover", "drop"]) {
    view.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""
PASTE = """(text) => {
  const data = new DataTransfer();
  data.setData("text/plain", text);
  document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(autouse=True)
def nothing_there(server: Server) -> None:
    with server.client() as client:
        for kind, name, key in (("files", "files", "path"), ("documents", "documents", "id")):
            for entry in client.get(f"/api/projects/demo/{kind}").json()[name]:
                client.delete(f"/api/projects/demo/{kind}/{entry[key]}").raise_for_status()


def put_file(server: Server, path: str, content: str) -> None:
    with server.client() as client:
        client.put(f"/api/projects/demo/files/{path}", json={"content": content}).raise_for_status()


def content_of(server: Server, path: str) -> Any:
    with server.client() as client:
        return client.get(f"/api/projects/demo/{path}").json().get("content")


def go(page: Page, server: Server, view: str) -> None:
    page.goto(f"{server.url}/#/{view}")
    expect(page.locator(".library")).to_be_visible()


def test_files_are_added_by_upload_by_drop_and_by_paste(page: Page, server: Server) -> None:
    go(page, server, "files")
    expect(page.locator(".empty")).to_contain_text("No files yet")
    upload = [{"name": "dot.png", "mimeType": "image/png", "buffer": PNG}]
    page.locator("#picker").set_input_files(upload)  # type: ignore[arg-type]
    expect(page.get_by_role("link", name="dot.png")).to_be_visible()
    page.evaluate(DROP, {"notes.md": "# Notes", "list.txt": "one"})
    expect(page.locator("tbody tr")).to_have_count(3)
    page.evaluate(PASTE, "Something from elsewhere")
    expect(page.locator("#entry-text")).to_have_value("Something from elsewhere")
    page.locator("#entry-name").fill("pasted/one.txt")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("pre.content")).to_have_text("Something from elsewhere")
    assert content_of(server, "files/pasted/one.txt") == "Something from elsewhere"
    go(page, server, "files")
    page.get_by_role("link", name="dot.png").click()
    expect(page.locator("img.content")).to_have_js_property("naturalWidth", 1)


def test_a_text_file_is_edited(page: Page, server: Server) -> None:
    put_file(server, "docs/plan.md", "# Plan")
    go(page, server, "files")
    page.get_by_role("link", name="docs/plan.md").click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Content of docs/plan.md").fill("# Another plan\n\n✓ ok")
    # Whoever looks something up meanwhile loses nothing.
    page.get_by_role("link", name="Knowledge").click()
    page.go_back()
    expect(page.get_by_label("Content of docs/plan.md")).to_have_value("# Another plan\n\n✓ ok")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("pre.content")).to_contain_text("✓ ok")
    assert content_of(server, "files/docs/plan.md") == "# Another plan\n\n✓ ok"


def test_removing_asks_first_and_escape_means_no(page: Page, server: Server) -> None:
    put_file(server, "keep.txt", "kept")
    go(page, server, "files")
    page.get_by_role("button", name="Remove keep.txt").click()
    expect(page.get_by_role("dialog")).to_contain_text("Remove this file?")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert content_of(server, "files/keep.txt") == "kept"
    page.get_by_role("button", name="Remove keep.txt").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator(".empty")).to_be_visible()
    assert content_of(server, "files/keep.txt") is None


def test_a_file_that_is_there_already_is_replaced_only_if_one_says_so(page: Page, server: Server) -> None:
    put_file(server, "notes.md", "old")
    go(page, server, "files")
    expect(page.get_by_role("link", name="notes.md")).to_be_visible()
    page.evaluate(DROP, {"notes.md": "new"})
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert content_of(server, "files/notes.md") == "old"
    page.evaluate(DROP, {"notes.md": "new"})
    page.get_by_role("dialog").get_by_role("button", name="Replace").click()
    expect(page.locator(".library [role=status]").first).to_have_text("1 file added.")
    assert content_of(server, "files/notes.md") == "new"


def test_a_name_that_is_not_accepted_is_said_to_be_and_nothing_is_lost(page: Page, server: Server) -> None:
    go(page, server, "files")
    page.get_by_role("link", name="Write one").click()
    page.locator("#entry-text").fill("x")
    for name in ("../secret", "notes/", "a?b"):
        page.locator("#entry-name").fill(name)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert").filter(has_text="must not")).to_be_visible()
    expect(page.locator("#entry-text")).to_have_value("x")


def test_knowledge_is_added_searched_and_opened(page: Page, server: Server) -> None:
    go(page, server, "knowledge")
    page.evaluate(
        DROP,
        {"returns.md": "# Returns\n\nGoods may come back within thirty days.", "bin.pdf": "%PDF\u0000\u0001"},
    )
    expect(page.get_by_role("link", name="Returns")).to_be_visible()
    expect(page.locator("#notices")).to_contain_text("bin.pdf: it is no text")
    page.get_by_label("What would an agent find?").fill("thirty days")
    page.keyboard.press("Enter")
    found = page.locator(".passages li")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("Goods may come back within thirty days.")
    found.get_by_role("link").click()
    expect(page.locator("pre.content")).to_contain_text("Goods may come back")


def test_names_and_contents_with_markup_in_them_stay_text(page: Page, server: Server) -> None:
    evil = "<img src=x onerror='window.owned=1'>"
    with server.client() as client:
        body = {"title": evil, "content": f"{evil} <script>window.owned=1</script>"}
        client.put("/api/projects/demo/documents/evil.html", json=body).raise_for_status()
    go(page, server, "knowledge")
    page.get_by_role("link", name=evil).click()
    expect(page.locator("pre.content")).to_contain_text("<script>window.owned=1</script>")
    assert page.evaluate("window.owned") is None
    assert page.locator(".library img, .library script").count() == 0
