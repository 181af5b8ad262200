"""listFiles, readFile, writeFile, generateImage; and which agents are offered them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parley.clock import MovableClock
from parley.domain.agents import Agent, AgentFunction, ClassFunction, ImageModel
from parley.domain.errors import ProviderError, ProviderOverloaded, ProviderRejectedRequest
from parley.embedded.blobs import FolderBlobs
from parley.prompts.question import confirmation_question
from parley.tools.builtin.workspace import LISTED
from parley.tools.function import Function, agent_function
from parley.tools.packs import PackFailed
from parley.tools.registry import FunctionRegistry
from parley.turns.files import ProjectFiles
from parley.turns.function_ports import FunctionCall, FunctionOutcome
from parley.turns.model_ports import Image, ImageMaker, ImageOptions
from parley.turns.projects import with_class_facts
from tests.support.memory_store import MemoryStore

PNG = Image(b"\x89PNG picture", "image/png")
MODEL = ImageModel(provider="painter", model="brush-1", size="64x64", settings={"seed": 1})


class Painter:
    """An image maker whose ``answers`` are given one per request."""

    name = "painter"

    def __init__(self) -> None:
        self.answers: list[Image | ProviderError] = [PNG]
        self.asked: list[tuple[str, ImageOptions]] = []

    def image_maker(self, name: str) -> ImageMaker:
        assert name == self.name
        return self

    def imagine(self, prompt: str, options: ImageOptions) -> Image:
        self.asked.append((prompt, options))
        answer = self.answers.pop(0)
        if isinstance(answer, ProviderError):
            raise answer
        return answer


class Desk:
    """A project with its files, and the runtime's functions over them."""

    def __init__(self, folder: Path) -> None:
        blobs = FolderBlobs(folder)
        self.clock = MovableClock()
        self.painter = Painter()
        self.files = ProjectFiles(blobs, "demo")
        self.functions = FunctionRegistry(
            MemoryStore(), self.clock, blobs=blobs, image_makers=self.painter, classes=[Own]
        )

    def call(
        self, name: str, key: str = "key-1", images: ImageModel | None = MODEL, **arguments: Any
    ) -> FunctionOutcome:
        return self.functions.call(FunctionCall(name, arguments, "dev", "demo", "a", "t", key, images))


class Own(Function):
    name = "own"

    def handle(self, arguments: Any) -> str:
        files = self.context.files
        assert files is not None
        files.write("../escaped", b"")
        return "written"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def agent(**fields: Any) -> Agent:
    return Agent(agent_id="a", name="A", provider="scripted", model="demo", **fields)


def test_files_are_listed_with_their_sizes_and_as_a_table(desk: Desk) -> None:
    assert desk.call("listFiles").content == "There are no such files."
    desk.files.write("docs/b.md", b"x" * 1234)
    desk.files.write("docs/a.md", b"")
    desk.files.write("z", b"1")
    outcome = desk.call("listFiles", prefix="docs/")
    assert outcome.content == "docs/a.md (0 bytes)\ndocs/b.md (1,234 bytes)"
    table = outcome.additional_data["table_data"]
    assert table["columns"] == ["path", "size", "modified"]
    assert [row[:2] for row in table["rows"]] == [["docs/a.md", 0], ["docs/b.md", 1234]]


def test_a_long_list_goes_on_behind_its_last_path(desk: Desk) -> None:
    paths = [f"{number:04}" for number in range(LISTED + 2)]
    for path in paths:
        desk.files.write(path, b"")
    *lines, more = desk.call("listFiles").content.splitlines()
    assert len(lines) == LISTED
    assert more == f"There are more: go on with after = {paths[LISTED - 1]}"
    rest = desk.call("listFiles", after=paths[LISTED - 1]).content
    assert rest == f"{paths[-2]} (0 bytes)\n{paths[-1]} (0 bytes)"
    assert desk.call("listFiles", after=paths[-1]).content == "There are no more files."


def test_a_file_is_read_whole_or_in_parts(desk: Desk) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 11))
    desk.files.write_text("a.txt", text)
    assert desk.call("readFile", path="a.txt").content == text
    part = desk.call("readFile", path="a.txt", first_line=3, lines=2).content
    assert part == "[lines 3 to 4 of 10]\nline 3\nline 4\n"
    beyond = desk.call("readFile", path="a.txt", first_line=11)
    assert (beyond.content, beyond.ok) == ("a.txt has only 10 lines.", False)


def test_what_cannot_be_read_is_said(desk: Desk) -> None:
    desk.files.write("empty", b"")
    desk.files.write("image", b"\x89PNG")
    assert desk.call("readFile", path="empty").content == "empty is empty."
    assert desk.call("readFile", path="image").content == "image is no text: 4 bytes of something else."
    assert desk.call("readFile", path="none").content == "There is no file none."
    assert not desk.call("readFile", path="none").ok


def test_a_file_is_written_and_replaced(desk: Desk) -> None:
    for content in ("héllo", "again"):
        outcome = desk.call("writeFile", path="notes/ü.md", content=content)
        size = len(content.encode())
        assert outcome.content == f"Wrote notes/ü.md ({size} bytes)."
        url = "/api/projects/demo/files/notes/%C3%BC.md"
        assert outcome.additional_data == {"file": {"path": "notes/ü.md", "url": url, "size": size}}
        assert desk.files.read("notes/ü.md") == content.encode()


def test_writing_asks_first_and_the_question_names_path_and_size(desk: Desk) -> None:
    spec = desk.functions.spec("writeFile")
    assert spec is not None
    assert spec.requires_user_confirmation
    arguments = {"path": "notes.md", "content": "x" * 5000}
    question = confirmation_question(spec.confirmation_question, "writeFile", arguments)
    assert question == "Write 5000 characters to notes.md?"


@pytest.mark.parametrize("name", ["readFile", "writeFile"])
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../etc/passwd", "path: must not have . or .. as a part"),
        ("/etc/passwd", "path: must not begin or end with a slash, or have two in a row"),
        ("a\nb", "path: must not have control characters, invisible ones, backslashes or question marks"),
        ("é" * 300, "path: must have at most 512 bytes in UTF-8"),
    ],
)
def test_paths_that_lead_outside_are_refused_before_anybody_is_asked(
    desk: Desk, name: str, path: str, words: str
) -> None:
    arguments = {"path": path, "content": "x"} if name == "writeFile" else {"path": path}
    assert desk.functions.validate(name, arguments) == f"Validation failed: {words}"
    assert desk.files.list() == []


def test_a_text_that_is_too_large_is_refused_before_anybody_is_asked(desk: Desk) -> None:
    words = desk.functions.validate("writeFile", {"path": "a", "content": "é" * 600_000})
    assert words == "Validation failed: content: must have at most 1,048,576 bytes in UTF-8"


def test_a_packs_function_reaches_the_files_and_nothing_outside(desk: Desk) -> None:
    outcome = desk.call("own")
    assert (outcome.content, outcome.ok) == ("path: must not have . or .. as a part.", False)


def test_a_picture_becomes_a_file_with_a_link(desk: Desk) -> None:
    outcome = desk.call("generateImage", prompt="A red fox, in the snow!")
    image = outcome.additional_data["image"]
    assert image["path"].startswith("images/a-red-fox-in-the-snow-")
    assert image["path"].endswith(".png")
    assert image["url"] == f"/api/projects/demo/files/{image['path']}"
    assert (image["media_type"], image["size"]) == ("image/png", len(PNG.data))
    assert image["path"] in outcome.content
    assert desk.files.read(image["path"]) == PNG.data
    ((prompt, options),) = desk.painter.asked
    assert prompt == "A red fox, in the snow!"
    assert options == ImageOptions("brush-1", size="64x64", settings={"seed": 1})


def test_a_call_that_runs_again_makes_no_second_picture_and_another_call_makes_its_own(desk: Desk) -> None:
    first = desk.call("generateImage", prompt="文")
    assert desk.call("generateImage", prompt="文") == first
    assert len(desk.painter.asked) == 1
    desk.painter.answers = [Image(b"jpeg", "image/jpeg")]
    other = desk.call("generateImage", key="key-2", prompt="文").additional_data["image"]
    assert other["path"].startswith("images/picture-")
    assert other["path"].endswith(".jpg")
    assert len(desk.files.list("images/")) == 2


@pytest.mark.parametrize(
    ("answers", "waited", "words"),
    [
        ([ProviderOverloaded("busy"), PNG], 1.0, None),
        ([ProviderOverloaded("busy", retry_after=5), PNG], 5.0, None),
        (
            [ProviderOverloaded("busy", retry_after=60)],
            0.0,
            "The picture could not be made. busy",
        ),
        (
            [ProviderOverloaded("busy"), ProviderOverloaded("still busy")],
            1.0,
            "The picture could not be made. still busy",
        ),
        ([ProviderRejectedRequest("no such thing")], 0.0, "The picture could not be made. no such thing"),
        ([Image(bytes(5_000_000), "image/png")], 0.0, "A file has at most 4,194,304 bytes."),
    ],
)
def test_a_provider_that_fails_is_asked_once_more_if_that_may_help(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    answers: list[Image | ProviderError],
    waited: float,
    words: str | None,
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(desk.clock, "sleep", slept.append)
    desk.painter.answers = answers
    outcome = desk.call("generateImage", prompt="a fox")
    assert sum(slept) == waited
    assert outcome.ok is (words is None)
    if words:
        assert outcome.content == words
        assert desk.files.list() == []


def test_an_agent_without_an_image_model_is_told_so(desk: Desk) -> None:
    outcome = desk.call("generateImage", images=None, prompt="a fox")
    assert (outcome.content, outcome.ok) == ("This agent has no image model.", False)


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({}, []),
        ({"workspace": True}, ["listFiles", "readFile", "writeFile"]),
        ({"images": MODEL}, ["generateImage"]),
        ({"workspace": True, "images": MODEL}, ["listFiles", "readFile", "writeFile", "generateImage"]),
    ],
)
def test_an_agent_is_offered_what_it_has_switched_on(
    desk: Desk, fields: dict[str, Any], names: list[str]
) -> None:
    ready = with_class_facts(desk.functions, agent(functions=[agent_function(Own)], **fields))
    assert [function.name for function in ready.functions] == ["own", *names]
    assert all(function.parameters and function.description is not None for function in ready.functions)
    asking = [function.name for function in ready.functions if function.requires_user_confirmation]
    assert asking == (["writeFile"] if "writeFile" in names else [])


def test_an_agents_own_function_of_the_same_name_wins(desk: Desk) -> None:
    trusted = AgentFunction(
        name="writeFile",
        requires_user_confirmation=False,
        implementation=ClassFunction(class_name="writeFile"),
    )
    replaced = AgentFunction(name="readFile", implementation=ClassFunction(class_name="own"))
    ready = with_class_facts(desk.functions, agent(workspace=True, functions=[trusted, replaced]))
    assert [function.name for function in ready.functions] == ["writeFile", "readFile", "listFiles"]
    writes, reads, _ = ready.functions
    assert writes.requires_user_confirmation is False
    assert reads.implementation == ClassFunction(class_name="own")


def test_where_no_files_are_kept_there_are_no_such_functions() -> None:
    functions = FunctionRegistry(MemoryStore(), MovableClock())
    assert with_class_facts(functions, agent(workspace=True)).functions == ()


def test_a_pack_cannot_take_the_runtimes_names(tmp_path: Path) -> None:
    class Mine(Function):
        name = "readFile"

        def handle(self, arguments: Any) -> str:
            return "mine"

    functions = FunctionRegistry(MemoryStore(), MovableClock(), blobs=FolderBlobs(tmp_path), classes=[Mine])
    with pytest.raises(PackFailed, match="two function classes are named 'readFile'"):
        functions.classes()
