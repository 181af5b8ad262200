"""Routes of a project's workspace files."""

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from on_http.answers import Limit, Name, Written
from on_http.resolver import current_user, whole
from parley import wiring
from parley.turns import files

router = Router()  # type: ignore[no-untyped-call]
FILES = "/api/projects/<project>/files"
FILE = f"{FILES}/<path+>"
FilePath = Annotated[str, Path(description="The file's path, slashes and all")]
Prefix = Annotated[str, Query(description="Only paths that begin with this")]
FileCursor = Annotated[str | None, Query(max_length=800, description="`next` of the page before")]


class FileInput(Written):
    """A file's content: text, or bytes in base64."""

    content: str | None = None
    content_base64: str | None = None


@router.get(FILES, tags=["files"])
def list_files(
    project: Name, prefix: Prefix = "", limit: Limit = 100, cursor: FileCursor = None
) -> dict[str, Any]:
    """The project's files, by path."""
    caller = current_user()
    return files.list_files(wiring.runtime(), caller, project, prefix=prefix, limit=limit, cursor=cursor)


@router.get(FILE, tags=["files"])
def get_file(project: Name, path: FilePath) -> dict[str, Any]:
    """A file: `content` if it is text, else `content_base64`."""
    return files.get_file(wiring.runtime(), current_user(), project, whole("path", path))


@router.put(FILE, tags=["files"])
def put_file(project: Name, path: FilePath, file: FileInput) -> dict[str, Any]:
    """Make or replace a file."""
    return files.put_file(
        wiring.runtime(),
        current_user(),
        project,
        whole("path", path),
        content=file.content,
        content_base64=file.content_base64,
    )


@router.delete(FILE, tags=["files"])
def delete_file(project: Name, path: FilePath) -> dict[str, Any]:
    """Remove a file."""
    return files.delete_file(wiring.runtime(), current_user(), project, whole("path", path))
