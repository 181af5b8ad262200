"""What MCP servers tell of their tools: all that an agent names are asked at once, for a person waits."""

from __future__ import annotations

import importlib
import queue
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from parley.domain.errors import InvalidRequest
from parley.domain.remote_functions import McpFunction
from parley.tools.answers import Unanswered
from parley.tools.remote import LIST_SECONDS, RemoteFunctions

if TYPE_CHECKING:
    from parley.tools.mcp_calls import Tool

_GRACE = 2.0
"""Seconds beyond a server's own limit, which a look-up of its name does not know."""


def list_all(
    remote: RemoteFunctions, project_id: str, servers: Mapping[McpFunction, str]
) -> dict[McpFunction, list[Tool]]:
    """The tools of each server. ``servers``: each with the name of the function that stands for it.

    Raises InvalidRequest with every server that did not tell.
    """
    importlib.import_module("parley.tools.mcp_calls")  # slow, and nobody's fault: before any clock runs
    asked = {server: _Asking(partial(remote.tools, project_id, server)) for server in servers}
    ends = time.monotonic() + LIST_SECONDS + _GRACE
    told = {server: asking.wait(ends) for server, asking in asked.items()}
    faults = [
        f"{servers[server]}: its MCP server {answer}"
        for server, answer in told.items()
        if isinstance(answer, Unanswered)
    ]
    if faults:
        raise InvalidRequest("invalid_request", f"functions: {'; '.join(faults)}.")
    return {server: answer for server, answer in told.items() if not isinstance(answer, Unanswered)}


class _Asking:
    """One server, asked in a thread of its own; a daemon, for the look-up of its name may hang for minutes."""

    def __init__(self, ask: Callable[[], list[Tool]]) -> None:
        self._ask = ask
        self._answers: queue.SimpleQueue[list[Tool] | BaseException] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="mcp-tools", daemon=True).start()

    def _run(self) -> None:
        try:
            self._answers.put(self._ask())
        except BaseException as error:  # noqa: BLE001 - handed over to who waits
            self._answers.put(error)

    def wait(self, ends: float) -> list[Tool] | Unanswered:
        """What came of it by then (monotonic seconds). Raises what is no answer of a server."""
        try:
            answer = self._answers.get(timeout=max(0.0, ends - time.monotonic()))
        except queue.Empty:
            return Unanswered(f"did not answer within {LIST_SECONDS:g} s")
        if isinstance(answer, BaseException) and not isinstance(answer, Unanswered):
            raise answer
        return answer
