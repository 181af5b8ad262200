"""A project's workspace files: values in the blobs, by path. Who may see them is the project's matter."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple
from urllib.parse import quote

from parley.domain import keys
from parley.domain.errors import InvalidRequest, TooLarge
from parley.domain.files import LARGEST_BINARY, LARGEST_TEXT, as_text, path_fault, prefix_fault
from parley.turns import projects
from parley.turns.ports import Blobs
from parley.turns.read_threads import decode_cursor, encode_cursor
from parley.turns.runtime import Runtime

_BASE64_SIZE = 4 * (LARGEST_BINARY // 3 + 1)


class FileInfo(NamedTuple):
    """A file without its content: size in bytes, time of change in epoch seconds."""

    path: str
    size: int
    modified_at: float


def file_link(project_id: str, path: str) -> str:
    """The route of a file, to be read by any member of the project."""
    return f"/api/projects/{quote(project_id, safe='')}/files/{quote(path)}"


class ProjectFiles:
    """The files of one project. Paths are checked here: whoever asks, nothing outside is reached."""

    def __init__(self, blobs: Blobs, project_id: str) -> None:
        self._blobs = blobs
        self._folder = keys.project_files(project_id)
        self.project_id = project_id

    def list(self, prefix: str = "", *, after: str | None = None, limit: int = 100) -> list[FileInfo]:
        """Files whose path begins with ``prefix``, by path, ``after`` left out. Fewer than ``limit`` are the end."""
        _check(prefix_fault(prefix), "prefix")
        found = self._blobs.list_keys(
            self._folder + prefix, after=self._folder + after if after else None, limit=limit
        )
        return [FileInfo(blob.key.removeprefix(self._folder), blob.size, blob.modified_at) for blob in found]

    def info(self, path: str) -> FileInfo | None:
        """The file's size and time, or None."""
        first = self.list(self._checked(path), limit=1)
        return first[0] if first and first[0].path == path else None

    def read(self, path: str) -> bytes | None:
        """The file's content, or None."""
        return self._blobs.get(self._folder + self._checked(path))

    def write(self, path: str, content: bytes) -> None:
        """Make or replace the file. Raises TooLarge."""
        text = as_text(content) is not None
        if len(content) > LARGEST_BINARY:
            raise TooLarge("too_large", f"A file has at most {LARGEST_BINARY:,} bytes.")
        kind = "text/plain; charset=utf-8" if text else "application/octet-stream"
        self._blobs.put(self._folder + self._checked(path), content, content_type=kind)

    def write_text(self, path: str, content: str) -> None:
        """Make or replace a file of text. Raises TooLarge, and InvalidRequest for lone surrogates."""
        try:
            encoded = content.encode()
        except UnicodeEncodeError:
            raise InvalidRequest("invalid_request", "content: must be valid text.") from None
        if len(encoded) > LARGEST_TEXT:
            raise TooLarge("too_large", f"content: must have at most {LARGEST_TEXT:,} bytes in UTF-8.")
        self.write(path, encoded)

    def delete(self, path: str) -> None:
        """Remove the file, if it is there."""
        self._blobs.delete(self._folder + self._checked(path))

    @staticmethod
    def _checked(path: str) -> str:
        _check(path_fault(path), "path")
        return path


def _check(fault: str | None, name: str) -> None:
    if fault:
        raise InvalidRequest("invalid_request", f"{name}: {fault}.")


def _of_member(runtime: Runtime, user_id: str, project_id: str) -> ProjectFiles:
    projects.require_member(runtime, user_id, project_id)
    return ProjectFiles(runtime.blobs, project_id)


def list_files(
    runtime: Runtime, user_id: str, project_id: str, *, prefix: str, limit: int, cursor: str | None
) -> dict[str, Any]:
    """``{"files": [{"path", "size", "modified_at"}], "next"}``, by path."""
    files = _of_member(runtime, user_id, project_id)
    found = files.list(prefix, after=decode_cursor(cursor, prefix), limit=limit)
    following = encode_cursor(found[-1].path) if len(found) == limit else None
    return {"files": [file._asdict() for file in found], "next": following}


def get_file(runtime: Runtime, user_id: str, project_id: str, path: str) -> dict[str, Any]:
    """``{"path", "size", "modified_at"}`` with ``content``, or ``content_base64`` for what is no text."""
    files = _of_member(runtime, user_id, project_id)
    content = files.read(path)
    info = None if content is None else files.info(path)
    if content is None or info is None:
        raise projects.not_found("file")
    text = as_text(content)
    shown = {"content_base64": base64.b64encode(content).decode()} if text is None else {"content": text}
    return {"path": path, **shown, "size": len(content), "modified_at": info.modified_at}


def put_file(
    runtime: Runtime,
    user_id: str,
    project_id: str,
    path: str,
    *,
    content: str | None,
    content_base64: str | None,
) -> dict[str, Any]:
    """Make or replace a file; its ``{"path", "size", "modified_at"}``."""
    files = _of_member(runtime, user_id, project_id)
    if (content is None) == (content_base64 is None):
        raise InvalidRequest("invalid_request", "content: give either content or content_base64.")
    if content is not None:
        files.write_text(path, content)
    else:
        files.write(path, _decoded(content_base64 or ""))
    info = files.info(path)
    if info is None:  # deleted by another since
        raise projects.not_found("file")
    return info._asdict()


def _decoded(content: str) -> bytes:
    if len(content) > _BASE64_SIZE:
        raise TooLarge("too_large", f"content_base64: must be at most {LARGEST_BINARY:,} bytes.")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequest("invalid_request", "content_base64: must be base64.") from None


def delete_file(runtime: Runtime, user_id: str, project_id: str, path: str) -> dict[str, Any]:
    """Remove a file; ``{"path", "deleted": true}``. Raises NotFound."""
    files = _of_member(runtime, user_id, project_id)
    if files.info(path) is None:
        raise projects.not_found("file")
    files.delete(path)
    return {"path": path, "deleted": True}
