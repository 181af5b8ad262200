"""listFiles, readFile, writeFile: the project's workspace for agents with ``workspace: true``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from parley.domain.files import LARGEST_TEXT, LONGEST_PATH, as_text, path_fault, prefix_fault
from parley.tools.function import Function, FunctionArguments, FunctionContext, FunctionFailed, FunctionResult
from parley.turns.files import FileInfo, ProjectFiles, file_link

LISTED = 200
"""Files of one call."""
LINES = 2_000
"""Lines of one call, unless the model asks for fewer."""


def _path(path: str) -> str:
    if fault := path_fault(path):
        raise ValueError(fault)
    return path


def _prefix(prefix: str) -> str:
    if fault := prefix_fault(prefix):
        raise ValueError(fault)
    return prefix


def _content(content: str) -> str:
    if len(content.encode()) > LARGEST_TEXT:
        raise ValueError(f"must have at most {LARGEST_TEXT:,} bytes in UTF-8")
    return content


WorkspacePath = Annotated[
    str,
    Field(description="The file's path, such as docs/plan.md.", max_length=LONGEST_PATH),
    AfterValidator(_path),
]


def files_of(context: FunctionContext) -> ProjectFiles:
    """The project's files. Raises FunctionFailed where there are none."""
    if context.files is None:
        raise FunctionFailed("This installation keeps no workspace files.")
    return context.files


def shown(context: FunctionContext, file: FileInfo, **more: Any) -> dict[str, Any]:
    """A file for the page: what it is, and the route that gives it."""
    return {"path": file.path, "url": file_link(context.project_id, file.path), "size": file.size, **more}


class ListFiles(Function):
    """A page of the files, by path."""

    name = "listFiles"
    description = "Lists the files of the project's workspace with their sizes."

    class Arguments(FunctionArguments):
        """Which files."""

        prefix: Annotated[str, AfterValidator(_prefix)] = Field(
            default="", description="Only paths that begin with this, such as docs/."
        )
        after: Annotated[str, AfterValidator(_prefix)] = Field(
            default="", description="Go on behind this path, the last one of the list before."
        )

    def handle(self, arguments: Arguments) -> FunctionResult:
        """The files, and how to ask for more."""
        found = files_of(self.context).list(arguments.prefix, after=arguments.after or None, limit=LISTED + 1)
        page = found[:LISTED]
        lines = [f"{file.path} ({file.size:,} bytes)" for file in page]
        if not page:
            lines = ["There are no more files." if arguments.after else "There are no such files."]
        if len(found) > LISTED:
            lines.append(f"There are more: go on with after = {page[-1].path}")
        rows = [[file.path, file.size, _day(file.modified_at)] for file in page]
        table = {"columns": ["path", "size", "modified"], "rows": rows}
        return FunctionResult("\n".join(lines), {"table_data": table} if rows else {})


class ReadFile(Function):
    """A file's text, or a part of it."""

    name = "readFile"
    description = "Reads a text file of the project's workspace."

    class Arguments(FunctionArguments):
        """Which lines of which file."""

        path: WorkspacePath
        first_line: int = Field(default=1, ge=1, description="The first line to read, counted from 1.")
        lines: int = Field(default=LINES, ge=1, le=LINES, description="How many lines to read.")

    def handle(self, arguments: Arguments) -> str:
        """The text; where it is not all of the file, which lines it is."""
        content = files_of(self.context).read(arguments.path)
        if content is None:
            raise FunctionFailed(f"There is no file {arguments.path}.")
        text = as_text(content)
        if text is None:
            raise FunctionFailed(f"{arguments.path} is no text: {len(content):,} bytes of something else.")
        if not text:
            return f"{arguments.path} is empty."
        lines = text.splitlines(keepends=True)
        start = arguments.first_line - 1
        part = lines[start : start + arguments.lines]
        if not part:
            raise FunctionFailed(f"{arguments.path} has only {len(lines):,} lines.")
        if len(part) == len(lines):
            return text
        where = f"[lines {start + 1:,} to {start + len(part):,} of {len(lines):,}]"
        return f"{where}\n{''.join(part)}"


class WriteFile(Function):
    """A new file, or a new content for one. A person is asked first."""

    name = "writeFile"
    description = "Writes a text file into the project's workspace; one that is there is replaced."
    requires_user_confirmation = True
    confirmation_question: ClassVar[str | None] = "Write {content.count} characters to {path}?"

    class Arguments(FunctionArguments):
        """The whole file."""

        path: WorkspacePath
        content: Annotated[str, AfterValidator(_content)] = Field(description="The file's whole text.")

    def handle(self, arguments: Arguments) -> FunctionResult:
        """The same again writes the same: no key is needed."""
        files_of(self.context).write_text(arguments.path, arguments.content)
        size = len(arguments.content.encode())
        file = FileInfo(arguments.path, size, self.context.clock.now())
        words = f"Wrote {arguments.path} ({size:,} bytes)."
        return FunctionResult(words, {"file": shown(self.context, file)})


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
