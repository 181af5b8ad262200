"""What ends a command: one plain line for a person and an exit status, never a traceback."""

from __future__ import annotations


class CommandFailed(Exception):
    """The command cannot go on. `status` 1: it did not work; 2: it was called wrongly."""

    def __init__(self, message: str, *, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


class Refused(CommandFailed):
    """The server answered with an error. `http_status` and `type` are the answer's own."""

    def __init__(self, message: str, http_status: int, type: str = "") -> None:
        super().__init__(message)
        self.http_status = http_status
        self.type = type


class Unreachable(CommandFailed):
    """The server did not answer at all."""
